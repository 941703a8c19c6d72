import Accounts
import ArgumentParser
import Foundation
import HTTPServing
import Logging
import Records
import WebServices

/// The access control options of a server.
struct AccessOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "If requests need credentials: open or required. Open works only on this machine's own address. (default: open there, required elsewhere)",
            valueName: "mode"))
    var auth: AccessControl.Mode?

    @Option(
        help: ArgumentHelp(
            "Use https with the certificate in this file: PEM, the server's own first.", valueName: "file"))
    var tlsCert: String?

    @Option(help: ArgumentHelp("The private key of the certificate: PEM, without a password.", valueName: "file"))
    var tlsKey: String?

    @Option(
        help: ArgumentHelp(
            "Another host name of this server, such as skylight.local. Can be given more than once.", valueName: "name")
    )
    var allowHost: [String] = []

    @Option(
        help: ArgumentHelp(
            "A site whose pages may call this server, such as https://app.example.com. Can be given more than once.",
            valueName: "url"))
    var allowOrigin: [String] = []

    @Option(
        help: ArgumentHelp(
            "The limit of requests per second for each user, token or key; more get THROTTLED. 0: no limit. "
                + "(default: 0 with --auth open, \(defaultThrottle) with --auth required)",
            valueName: "number"))
    var throttle: Int?

    /// The default request rate limit per second where credentials are required. Well-behaved apps stay far below it.
    private static let defaultThrottle = 100

    func validate() throws {
        if let throttle, !(0...Throttle.highestLimit).contains(throttle) {
            throw ValidationError(
                "--throttle is a number of requests per second from 1 to \(Throttle.highestLimit), or 0 for no limit.")
        }
        if (tlsCert == nil) != (tlsKey == nil) {
            throw ValidationError("--tls-cert and --tls-key belong together: use both or neither.")
        }
        for host in allowHost where !TrustedSites.isHost(TrustedSites.asHost(host)) {
            throw ValidationError(
                "--allow-host needs a name or an address, with or without a port, such as skylight.local, not '\(host)'."
            )
        }
        for origin in allowOrigin where !TrustedSites.isOrigin(origin) {
            throw ValidationError(
                "--allow-origin needs a scheme, a host and perhaps a port, such as https://app.example.com, not '\(origin)'."
            )
        }
    }

    // MARK: Defaults according to the address

    /// - Throws: `ValidationError` if the server would be open to other machines without credentials.
    func check(for hostname: String) throws {
        guard TrustedSites.isWildcard(hostname) || TrustedSites.isHost(TrustedSites.asHost(hostname)) else {
            throw ValidationError(
                "--hostname needs an address or a name of this machine, such as 127.0.0.1 or 0.0.0.0, not '\(hostname)'."
            )
        }
        if auth == .open, !Loopback.contains(hostname) {
            throw ValidationError(
                "--auth open works only on this machine's own address: on '\(hostname)' everyone could read and change all data. "
                    + "Remove it, or use --hostname 127.0.0.1 and an SSH tunnel.")
        }
    }

    func mode(for hostname: String) -> AccessControl.Mode {
        auth ?? (Loopback.contains(hostname) ? .open : .required)
    }

    /// Stores the administrator's password from the environment in the data folder, unless a password exists.
    /// An existing password stays, because it may be newer, and the variable may be meant for another server.
    /// - Throws: `CommandFailure` if other machines can connect and there is no password.
    func checkPassword(in accounts: Accounts, for hostname: String, _ logger: Logger) async throws {
        if let password = AdministratorPassword.ofEnvironment, accounts.hasAdministratorPassword {
            if try await accounts.checkAdministrator(password: password, from: "") != .accepted {
                logger.warning(
                    "The password in \(AdministratorPassword.variable) differs from the one in the data folder, which is used; change it with 'skylight admin set-password'"
                )
            }
        } else if let password = AdministratorPassword.ofEnvironment {
            do {
                try await accounts.setAdministratorPassword(password)
            } catch let error as RecordError {
                throw CommandFailure(.usage, "\(AdministratorPassword.variable) can't be used: \(error.reason)")
            }
        }
        if !accounts.hasAdministratorPassword, !Loopback.contains(hostname) {
            throw CommandFailure(
                .usage,
                "Others can reach this server on \(hostname), but no administrator's password is set for its console",
                remedy:
                    "Set one first: skylight admin set-password, or the environment variable \(AdministratorPassword.variable). "
                    + "Without --hostname only this machine can reach the server, and it needs none")
        }
    }

    /// - Returns: `nil` for no rate limit.
    func throttle(for hostname: String) -> Throttle? {
        let limit = throttle ?? (mode(for: hostname) == .required ? Self.defaultThrottle : 0)
        return limit == 0 ? nil : Throttle(limit: limit)
    }

    func trustedSites(for hostname: String) -> TrustedSites {
        let hosts = allowHost.map(TrustedSites.asHost)
        if Loopback.contains(hostname) { return TrustedSites(hosts: hosts, origins: allowOrigin) }
        return TrustedSites(listeningOn: hostname, hosts: hosts, origins: allowOrigin)
    }

    /// - Throws: `CommandFailure` if the files are invalid.
    func certificate() throws -> ServerCertificate? {
        guard let tlsCert, let tlsKey else { return nil }
        do {
            return try ServerCertificate(certificateFile: tlsCert, keyFile: tlsKey)
        } catch {
            throw CommandFailure(error.isMissingFile ? .noInput : .badData, error.reason, remedy: error.remedy)
        }
    }

    /// Logs warnings about the access settings.
    func warn(_ access: AccessControl, _ certificate: ServerCertificate?, on hostname: String, _ logger: Logger) {
        if access.mode == .required, !access.accounts.hasAdministratorPassword {
            logger.notice(
                "No administrator's password is set, so nobody can sign in to the console. Set one with 'skylight admin set-password'"
            )
        }
        if let certificate, certificate.expiry < Date() {
            logger.warning(
                "The certificate of --tls-cert has expired on \(certificate.expiry.formatted(.iso8601)); clients refuse it"
            )
        }
        if certificate == nil, !Loopback.contains(hostname) {
            logger.warning(
                "Without TLS, passwords, tokens, cookies and records are sent over the network unencrypted; use --tls-cert and --tls-key"
            )
        }
    }

    /// A secret of 256 random bits, in hexadecimal digits.
    static func randomSecret() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<4).map { _ in String(UInt64.random(in: .min ... .max, using: &generator), digits: 16, radix: 16) }
            .joined()
    }
}
