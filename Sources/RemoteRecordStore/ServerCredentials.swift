internal import Foundation
internal import NIOSSL

/// The credentials for a server, and the way to verify the server's identity.
public struct ServerCredentials: Sendable {
    /// The value of the header `Authorization`.
    let authorization: String?
    /// The trust rule for servers with https.
    let trust: Trust

    enum Trust: Sendable {
        /// Trusts certificates that the system trusts, or one of these.
        case certificates([NIOSSLCertificate])
        /// Trusts the address itself: on this machine, from a file that only its owner can read.
        case place
    }

    private init(authorization: String?, trust: Trust) {
        self.authorization = authorization
        self.trust = trust
    }

    /// For servers without authentication.
    public static let none = ServerCredentials(authorization: nil, trust: .certificates([]))

    /// The secret of a server on this machine, from its data folder.
    public static func secret(_ secret: String) -> ServerCredentials {
        ServerCredentials(authorization: "Bearer \(secret)", trust: .place)
    }

    /// The administrator's password for a remote server, or no password.
    /// - Parameter certificates: additional trusted certificates in PEM format. The server's own certificate is sufficient.
    /// - Throws: an error of the TLS library if the certificates are not in PEM format.
    public static func password(_ password: String?, trusting certificates: [UInt8]? = nil) throws -> ServerCredentials {
        let authorization = password.map { "Basic " + Data("admin:\($0)".utf8).base64EncodedString() }
        return ServerCredentials(authorization: authorization, trust: .certificates(try certificates.map { try NIOSSLCertificate.fromPEMBytes($0) } ?? []))
    }

    /// The TLS configuration of the client library.
    var configuration: TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        switch trust {
        case .certificates(let certificates):
            if !certificates.isEmpty { configuration.additionalTrustRoots = [.certificates(certificates)] }
        case .place: configuration.certificateVerification = .none
        }
        return configuration
    }
}

/// The identity of an https server could not be verified.
public struct UntrustedCertificate: Error {
    /// The message of the TLS library.
    public let reason: String
}
