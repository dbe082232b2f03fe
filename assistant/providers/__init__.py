"""Adapters to language models, one module a wire format; only ``assistant.app`` names them."""
