"""From a finished turn to a vetted skill. Imports memory and skills_guard, nothing else of ours."""
