"""A mail server for tests: aiosmtpd, with TLS, passwords and bad moods where asked.

    python server.py FOLDER [--tls none|starttls|implicit] [--auth USER:PASSWORD]

Prints one line of JSON once it listens: {"port": ..., "ca": "path of the authority's certificate, with TLS"}. Each mail that it
takes becomes FOLDER/NNNN.json: envelope, raw bytes, and what Python's own parser makes of them. Ends when its standard input
does, so that it never outlives the test that started it.

The local part of a recipient says what happens to it:

    code421, code450, code550    that answer to RCPT
    data450, data552             that answer after the whole mail was sent
    slow                         the mail is taken, and ten seconds pass before the answer
    gone                         the mail is taken, and the connection ends instead of an answer
"""

import argparse
import asyncio
import base64
import email
import email.policy
import json
import pathlib
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword


class Handler:
    def __init__(self, folder):
        self.folder = folder
        self.count = 0

    async def handle_RCPT(self, server, session, envelope, address, options):
        mood = address.split("@")[0]
        if mood.startswith("code"):
            return f"{mood[4:7]} 5.0.0 {mood}"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        mood = envelope.rcpt_tos[0].split("@")[0]
        if mood.startswith("data"):
            return f"{mood[4:7]} 5.0.0 {mood}"
        self.keep(session, envelope, server.transport.get_extra_info("sslcontext") is not None)
        if mood == "slow":
            (self.folder / "slow").touch()
            await asyncio.sleep(10)
        if mood == "gone":
            server.transport.abort()
        return "250 2.0.0 taken"

    def keep(self, session, envelope, tls):
        self.count += 1
        raw = envelope.content
        message = email.message_from_bytes(raw, policy=email.policy.default)
        parts = [part for part in message.walk() if not part.is_multipart()]
        texts = {part.get_content_type(): part.get_content() for part in parts if part.get_filename() is None}
        files = [
            {
                "name": part.get_filename(),
                "type": part.get_content_type(),
                "bytes": base64.b64encode(part.get_payload(decode=True)).decode(),
            }
            for part in parts
            if part.get_filename() is not None
        ]
        kept = {
            "peer": session.peer[1],
            "tls": tls,
            "user": session.auth_data.login.decode() if session.auth_data else None,
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "raw": base64.b64encode(raw).decode(),
            "headers": [[name, str(value)] for name, value in message.items()],
            "defects": [str(d) for part in message.walk() for d in part.defects]
            + [f"{name}: {d}" for name, value in message.items() for d in value.defects],
            "texts": texts,
            "files": files,
        }
        made = self.folder / f"{self.count:04}.tmp"
        made.write_text(json.dumps(kept))
        made.rename(self.folder / f"{self.count:04}.json")


def authority(folder):
    """A certificate of `localhost` by an authority of this run alone."""
    import trustme

    ca = trustme.CA()
    certificate = ca.issue_cert("localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    path = folder / "ca.pem"
    ca.cert_pem.write_to_path(str(path))
    return context, path


async def serve(given):
    context, ca = (None, None) if given.tls == "none" else authority(given.folder)

    def authenticate(server, session, envelope, mechanism, data):
        user, _, password = given.auth.partition(":")
        right = isinstance(data, LoginPassword) and data.login.decode() == user and data.password.decode() == password
        return AuthResult(success=right, handled=right, auth_data=data)

    options = {"enable_SMTPUTF8": True}
    if given.auth:
        options |= {"authenticator": authenticate, "auth_required": True, "auth_require_tls": given.tls == "starttls"}
    if given.tls == "starttls":
        options |= {"tls_context": context, "require_starttls": True}

    loop = asyncio.get_running_loop()
    handler = Handler(given.folder)
    implicit = context if given.tls == "implicit" else None
    server = await loop.create_server(lambda: SMTP(handler, loop=loop, **options), "127.0.0.1", 0, ssl=implicit)
    print(json.dumps({"port": server.sockets[0].getsockname()[1], "ca": str(ca) if ca else None}), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--tls", default="none", choices=["none", "starttls", "implicit"])
    arguments.add_argument("--auth", metavar="USER:PASSWORD")
    asyncio.run(serve(arguments.parse_args()))


if __name__ == "__main__":
    main()
