"""Programs that fused functions once got wrong: text, and the steps that are taken with it."""
