"""May this text become a skill, or enter the prompt? Imports nothing of ours.

``vet(files, trust)`` decides, ``scan(path)`` reports, ``scan_text(text, kind)`` looks at a text.
"""
