"""Three requests: the token of the first in a header of the others, its cookie kept by Locust."""

from locust import FastHttpUser, task


class User(FastHttpUser):
    @task
    def shop(self):
        token = self.client.get("/login").json()["token"]
        headers = {"Authorization": f"Bearer {token}"}
        self.client.get("/items", headers=headers)
        self.client.get("/basket", headers=headers)
