"""What the assistant can do, one module a toolset; only ``assistant.app`` names them."""
