"""The initialisation form: whose memory a session has, asked once through the client's own question tool."""
