import Foundation
import Records
import RemoteRecordStore

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

    private static func engine(at address: ServerAddress, _ credentials: ServerCredentials) async throws -> RemoteRecordEngine? {
        let engine = try RemoteRecordEngine(url: address.url, credentials: credentials)
        do {
            _ = try await engine.health()
        } catch let error as UntrustedCertificate {
            await engine.close()
            throw CommandFailure(
                .unavailable, "The certificate of the server at \(address.description) is not trusted: \(error.reason)", code: "CERTIFICATE_NOT_TRUSTED",
                remedy: "Set the environment variable SKYLIGHT_TLS_CA to a PEM file with its certificate, or its issuer's")
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
                ? (ExitStatus.tryAgain, "there were too many wrong passwords\(error.retryAfter.map { "; try again in \($0) seconds" } ?? "")")
                : (.notPermitted, AdministratorPassword.ofEnvironment == nil ? "it requires the administrator's password" : "the password is wrong")
            throw CommandFailure(
                status, "The server at \(address.description) refused this command: \(reason)", code: error.code.rawValue,
                remedy: "Set the administrator's password in the environment variable \(AdministratorPassword.variable)")
        } catch {}
        return engine
    }

    /// The credentials from the environment, for a server given by its address.
    private static var credentials: ServerCredentials {
        get throws {
            let certificates = try ProcessInfo.processInfo.environment["SKYLIGHT_TLS_CA"].flatMap { $0.isEmpty ? nil : $0 }.map { file in
                do {
                    return [UInt8](try Data(contentsOf: URL(filePath: file)))
                } catch {
                    throw CommandFailure(.noInput, "The file of SKYLIGHT_TLS_CA can't be read: \(error.localizedDescription)")
                }
            }
            do {
                return try .password(AdministratorPassword.ofEnvironment, trusting: certificates)
            } catch {
                throw CommandFailure(.badData, "The file of SKYLIGHT_TLS_CA has no certificate in PEM form")
            }
        }
    }
}
