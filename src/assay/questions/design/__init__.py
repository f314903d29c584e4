"""What should I build next?"""
