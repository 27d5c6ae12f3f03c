"""Recording: storages and their versions, plans, blocks, and when recording rests."""
