"""What happened and what is known: sessions, notes, memory entries. Imports nothing of ours."""
