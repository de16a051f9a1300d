"""The way in: requests of people to what tasks serve, passed on over connections that agents open."""
