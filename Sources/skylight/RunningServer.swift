import ArgumentParser
import Foundation
import Records
import RemoteRecordStore
import ServiceLifecycle

/// Connections to running servers.
enum RunningServer {
    /// An engine for the server that has a data folder open; `nil` if there is
    /// none, or another server answers at its address. The caller must close it.
    static func engine(of file: ServerFile) async throws -> (engine: RemoteRecordEngine, address: ServerAddress)? {
        guard let entry = file.entry, let address = try? ServerAddress(ofServerFile: entry.address) else { return nil }
        // An error here means that the server of this folder does not run at the address.
        guard let engine = try? await engine(at: address, .secret(entry.secret)) else { return nil }
        if (try? await engine.instance()) == entry.instance { return (engine, address) }
        await engine.close()
        return nil
    }

    /// An engine for the server at an address; `nil` if there is no answer. The caller must close it.
    /// - Throws: `CommandFailure` if the credentials are missing or wrong.
    static func engine(at address: ServerAddress) async throws -> RemoteRecordEngine? {
        try await engine(at: address, try credentials)
    }

    private static func engine(at address: ServerAddress, _ credentials: ServerCredentials) async throws
        -> RemoteRecordEngine?
    {
        let engine = try RemoteRecordEngine(url: address.url, credentials: credentials)
        do {
            _ = try await engine.health()
        } catch let error as UntrustedCertificate {
            await engine.close()
            throw CommandFailure(
                .unavailable, "The certificate of the server at \(address.description) is not trusted: \(error.reason)",
                code: "CERTIFICATE_NOT_TRUSTED",
                remedy:
                    "Set the environment variable SKYLIGHT_TLS_CA to a PEM file with its certificate, or its issuer's")
        } catch {
            await engine.close()
            return nil
        }
        do {
            // The health service needs no credentials, so this request checks them.
            _ = try await engine.containers()
        } catch let error as RecordError where error.code == .authenticationFailed || error.code == .throttled {
            await engine.close()
            let (status, reason) =
                error.code == .throttled
                ? (
                    ExitStatus.tryAgain,
                    "there were too many wrong passwords\(error.retryAfter.map { "; try again in \($0) seconds" } ?? "")"
                )
                : (
                    .notPermitted,
                    AdministratorPassword.ofEnvironment == nil
                        ? "it requires the administrator's password" : "the password is wrong"
                )
            throw CommandFailure(
                status, "The server at \(address.description) refused this command: \(reason)",
                code: error.code.rawValue,
                remedy: "Set the administrator's password in the environment variable \(AdministratorPassword.variable)"
            )
        } catch {}
        return engine
    }

    /// The certificates that the environment trusts besides the system's.
    static var trustedCertificates: [UInt8]? {
        get throws {
            try ProcessInfo.processInfo.environment["SKYLIGHT_TLS_CA"].flatMap { $0.isEmpty ? nil : $0 }.map { file in
                do {
                    return [UInt8](try Data(contentsOf: URL(filePath: file)))
                } catch {
                    throw CommandFailure(
                        .noInput, "The file of SKYLIGHT_TLS_CA can't be read: \(error.localizedDescription)")
                }
            }
        }
    }

    /// The credentials from the environment, for a server given by its address.
    private static var credentials: ServerCredentials {
        get throws {
            let certificates = try trustedCertificates
            do {
                return try .password(AdministratorPassword.ofEnvironment, trusting: certificates)
            } catch {
                throw CommandFailure(.badData, "The file of SKYLIGHT_TLS_CA has no certificate in PEM form")
            }
        }
    }
}

// MARK: - Address

/// The address of a running Skylight, from `--url` or `SKYLIGHT_URL`.
struct ServerAddress: Sendable {
    let url: URL

    /// - Throws: `ValidationError` unless it is an https address, or an http address of
    ///   this machine: plain http would send the password unencrypted over the network.
    init(_ text: String) throws {
        try self.init(text, mayBeElsewhere: false)
    }

    /// The address from a server file in a data folder. It refers to this machine, whatever its host name.
    init(ofServerFile text: String) throws {
        try self.init(text, mayBeElsewhere: true)
    }

    private init(_ text: String, mayBeElsewhere: Bool) throws {
        guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(), let host = parts.host,
            !host.isEmpty, let url = parts.url
        else {
            throw ValidationError("'\(text)' is not the address of a server; use one such as http://127.0.0.1:8080")
        }
        guard scheme == "http" || scheme == "https" else {
            throw ValidationError("'\(text)' is neither an http nor an https address.")
        }
        guard mayBeElsewhere || scheme == "https" || Loopback.contains(host) else {
            throw ValidationError(
                "'\(host)' is not this machine, and without TLS the password would be sent unencrypted. Use an https address, or an "
                    + "SSH tunnel.")
        }
        guard ["", "/"].contains(parts.path), parts.query == nil, parts.fragment == nil, parts.user == nil,
            parts.password == nil
        else {
            throw ValidationError(
                "'\(text)' has more than an address; remove everything after the port, as in http://127.0.0.1:8080")
        }
        self.url = url
    }

    var description: String { url.absoluteString }
}

/// The host names and addresses that only this machine can reach.
enum Loopback {
    /// True for `localhost`, an address in 127.0.0.0/8, and ::1.
    static func contains(_ host: String) -> Bool {
        if ["localhost", "::1", "[::1]"].contains(host.lowercased()) { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}

// MARK: - File in the data folder

/// A file in the data folder for other commands, with the address, the instance id and the
/// secret of the server that has the folder open. Only the owner of the folder can read it.
///
/// Stale files of killed servers are detected: an address is valid only while a process has the folder open, and
/// opening the folder removes an old file. If another server has reused the address, its instance id differs.
struct ServerFile {
    struct Entry: Sendable {
        /// The address, such as `http://127.0.0.1:8080`.
        let address: String
        /// A random id, which the health service of the server also returns.
        let instance: String
        /// A random secret. A client with the secret is treated as the administrator.
        let secret: String
        /// The address at which the server answers in iCloud's place, such as `https://127.0.0.1:8443`.
        var asICloud: String?
    }

    private let url: URL
    /// The folder, which the process that has it open locks.
    private let folder: URL

    init(folder: URL) {
        url = folder.appending(path: ".server")
        self.folder = folder
    }

    /// The content of the file; `nil` if no server has the folder open.
    var entry: Entry? {
        // A server that has just opened the folder may not have written the file yet.
        guard isFolderOpen, let data = try? Data(contentsOf: url), data.count < 1024 else { return nil }
        let lines = String(decoding: data, as: UTF8.self).split(separator: "\n")
        guard (3...4).contains(lines.count) else { return nil }
        return Entry(
            address: String(lines[0]), instance: String(lines[1]), secret: String(lines[2]),
            asICloud: lines.count == 4 ? String(lines[3]) : nil)
    }

    /// True if any process, including this one, has the folder open.
    private var isFolderOpen: Bool {
        let descriptor = open(folder.path(percentEncoded: false), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        // Closing the descriptor also releases the lock.
        defer { close(descriptor) }
        // Servers with a common database share the lock.
        return flock(descriptor, LOCK_EX | LOCK_NB) != 0
    }

    /// Writes the file atomically.
    func write(_ entry: Entry) throws {
        let lines = [entry.address, entry.instance, entry.secret] + (entry.asICloud.map { [$0] } ?? [])
        try PrivateFile.write(lines.map { "\($0)\n" }.joined(), to: url)
    }

    /// Removes the file. On failure the file is ignored, because no process has the folder open.
    func remove() {
        try? FileManager.default.removeItem(at: url)
    }

    /// Removes the file if it has the entry of this server. Another server with the same database may have replaced it.
    func remove(entryOf instance: String) {
        if entry?.instance == instance { remove() }
    }
}

/// Removes the server file as soon as the shutdown begins, so that commands do not connect to a server that no longer
/// answers.
struct ServerFileWithdrawal: Service {
    let file: ServerFile
    /// The server's instance.
    let instance: String

    func run() async throws {
        try await gracefulShutdown()
        file.remove(entryOf: instance)
    }
}
