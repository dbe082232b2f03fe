"""When to run what. Imports nothing of ours."""
