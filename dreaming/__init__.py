"""Nightly: notes become long-term memory. Imports memory."""
