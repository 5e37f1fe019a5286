"""What the page draws of a state: the values of its model, and what each is made from."""
