"""nginx, which sends files as fast as anybody: the measure for the assets."""

import os
import subprocess

import servers

_CONFIGURATION = """
worker_processes auto;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        root {folder}/files;
        location /gzip/ {{
            alias {folder}/files/;
            gzip on;
            gzip_comp_level 6;
            gzip_types *;
        }}
    }}
}}
"""


def serve(folder):
    """A server for the files in a folder's `files`: as they are, and below `/gzip/` compressed at level 6 for those who take it."""
    (folder / "files").mkdir(parents=True, exist_ok=True)
    # As root it would serve as somebody else, who may not read here.
    user = "user root;\n" if _is_root() else ""
    port = servers.free_port()
    configuration = folder / "nginx.conf"
    configuration.write_text(user + _CONFIGURATION.format(folder=folder, port=port))
    server = servers.Server(["nginx", "-p", folder, "-e", folder / "error.log", "-c", configuration], port)
    (folder / "files/up").write_text("up\n")
    server.wait_until_up("/up")
    return server


def version():
    said = subprocess.run(["nginx", "-v"], capture_output=True, text=True, check=True).stderr
    return said.strip().rpartition("/")[2]


def _is_root():
    return os.geteuid() == 0
