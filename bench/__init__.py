"""bench: launches and times of named programs, small work, and what a GPU reaches."""
