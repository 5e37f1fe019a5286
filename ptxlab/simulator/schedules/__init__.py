"""Every schedule of a launch, and the memory consistency model that says which outcomes there may be."""
