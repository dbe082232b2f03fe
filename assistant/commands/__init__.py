"""The commands beside the chat, one module each; imported by ``assistant.cli`` when they run."""
