"""Three requests. The token from the first is sent in a header of the others; Locust keeps its cookie."""

from locust import FastHttpUser, task


class User(FastHttpUser):
    @task
    def shop(self):
        token = self.client.get("/login").json()["token"]
        headers = {"Authorization": f"Bearer {token}"}
        self.client.get("/items", headers=headers)
        self.client.get("/basket", headers=headers)
