import ArgumentParser
import Foundation

/// The address of a running Skylight, as `--url` and `SKYLIGHT_URL` give it.
struct ServerAddress: Sendable {
    let url: URL

    /// - Throws: `ValidationError` for anything but a plain HTTP address of this machine.
    init(_ text: String) throws {
        guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(), let host = parts.host, !host.isEmpty, let url = parts.url
        else {
            throw ValidationError("'\(text)' is not the address of a server; give one such as http://127.0.0.1:8080")
        }
        guard scheme == "http" else {
            throw ValidationError("'\(text)' is not an http address; in this version a server is reached by http on this machine only.")
        }
        guard Loopback.contains(host) else {
            throw ValidationError(
                "'\(host)' is not this machine. In this version a server is reached at localhost, 127.0.0.1 or ::1 only; reach another machine's through an "
                    + "SSH tunnel.")
        }
        guard ["", "/"].contains(parts.path), parts.query == nil, parts.fragment == nil, parts.user == nil, parts.password == nil else {
            throw ValidationError("'\(text)' has more than an address; leave what follows the port out, as in http://127.0.0.1:8080")
        }
        self.url = url
    }

    var description: String { url.absoluteString }
}
