"""The slow network of a rehearsed job."""
