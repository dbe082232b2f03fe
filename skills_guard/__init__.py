"""May this text become a skill, or enter the prompt? Imports nothing of ours."""
