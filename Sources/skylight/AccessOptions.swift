import Accounts
import ArgumentParser
import Foundation
import HTTPServing
import Logging
import Records
import Text
import WebServices

/// The access control options of a server.
struct AccessOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Whether requests need credentials: open or required. Open is for this machine's own address only. (default: open there, required elsewhere)",
            valueName: "mode"))
    var auth: AccessControl.Mode?

    @Option(help: ArgumentHelp("Speak https with the certificate in this file: PEM, the server's own first.", valueName: "file"))
    var tlsCert: String?

    @Option(help: ArgumentHelp("The private key of the certificate: PEM, without a password.", valueName: "file"))
    var tlsKey: String?

    @Option(help: ArgumentHelp("A further name by which clients call this server, such as skylight.local; may be given several times.", valueName: "name"))
    var allowHost: [String] = []

    @Option(
        help: ArgumentHelp(
            "A site whose pages may call this server from browsers, such as https://app.example.com; may be given several times.", valueName: "url"))
    var allowOrigin: [String] = []

    @Option(
        help: ArgumentHelp(
            "How many requests a second each user and each token or key may make; more are answered THROTTLED. 0: as many as there are. "
                + "(default: 0 with --auth open, \(defaultThrottle) with --auth required)",
            valueName: "number"))
    var throttle: Int?

    /// The default request rate limit per second where credentials are required. Well-behaved apps stay far below it.
    private static let defaultThrottle = 100

    func validate() throws {
        if let throttle, !(0...Throttle.highestLimit).contains(throttle) {
            throw ValidationError("--throttle is a number of requests a second from 1 to \(Throttle.highestLimit), or 0 for as many as there are.")
        }
        if (tlsCert == nil) != (tlsKey == nil) {
            throw ValidationError("--tls-cert and --tls-key belong together: give the certificate and its private key, or neither.")
        }
        for host in allowHost where !TrustedSites.isHost(TrustedSites.asHost(host)) {
            throw ValidationError("--allow-host takes a name or an address, with or without a port, such as skylight.local; '\(host)' is neither.")
        }
        for origin in allowOrigin where !TrustedSites.isOrigin(origin) {
            throw ValidationError("--allow-origin takes scheme, host and perhaps a port, such as https://app.example.com; '\(origin)' is something else.")
        }
    }

    // MARK: Defaults according to the address

    /// - Throws: `ValidationError` if the server would be open to other machines without credentials.
    func check(for hostname: String) throws {
        guard TrustedSites.isWildcard(hostname) || TrustedSites.isHost(TrustedSites.asHost(hostname)) else {
            throw ValidationError("--hostname takes an address or a name of this machine, such as 127.0.0.1 or 0.0.0.0; '\(hostname)' is neither.")
        }
        if auth == .open, !Loopback.contains(hostname) {
            throw ValidationError(
                "--auth open is for this machine's own address only: on '\(hostname)' anybody who reaches it could read and change all data. "
                    + "Leave it out, or use --hostname 127.0.0.1 and come through an SSH tunnel.")
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
                    "The password in \(AdministratorPassword.variable) is not the one in the data folder, which stays; 'skylight admin set-password' sets another")
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
                .usage, "On \(hostname) others can reach this server, and no administrator's password is set for its console",
                remedy: "Set one first: skylight admin set-password, or the environment variable \(AdministratorPassword.variable). "
                    + "Without --hostname the server is for this machine alone, and needs none")
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
            logger.notice("No administrator's password is set: nobody can sign in to the console until 'skylight admin set-password' sets one")
        }
        if let certificate, certificate.expiry < Date() {
            logger.warning("The certificate of --tls-cert has expired on \(certificate.expiry.formatted(.iso8601)); clients refuse it")
        }
        if certificate == nil, !Loopback.contains(hostname) {
            logger.warning(
                "Without TLS the administrator's password, tokens, cookies and all records travel over the network in the clear; give --tls-cert and --tls-key")
        }
    }

    /// A secret of 256 random bits, in hexadecimal digits.
    static func randomSecret() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<4).map { _ in String(UInt64.random(in: .min ... .max, using: &generator), digits: 16, radix: 16) }.joined()
    }
}
