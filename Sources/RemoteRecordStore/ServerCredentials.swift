internal import Foundation
internal import NIOSSL

/// What a server is told by its administrator, and how it is known.
public struct ServerCredentials: Sendable {
    /// The value of `Authorization`.
    let authorization: String?
    /// How a server is known that is reached by https.
    let trust: Trust

    enum Trust: Sendable {
        /// By a certificate that the system trusts, or one of these.
        case certificates([NIOSSLCertificate])
        /// By where it is: on this machine, at an address that was found in a file only its owner can read.
        case place
    }

    private init(authorization: String?, trust: Trust) {
        self.authorization = authorization
        self.trust = trust
    }

    /// For servers that ask nobody who they are.
    public static let none = ServerCredentials(authorization: nil, trust: .certificates([]))

    /// The secret of a server on this machine, out of the data folder that it has open.
    public static func secret(_ secret: String) -> ServerCredentials {
        ServerCredentials(authorization: "Bearer \(secret)", trust: .place)
    }

    /// The administrator's password, or nothing, for a server elsewhere.
    /// - Parameter certificates: PEM; what the server's certificate may be signed with besides what the system trusts. Its own is enough.
    /// - Throws: an error of the TLS library when it is no PEM.
    public static func password(_ password: String?, trusting certificates: [UInt8]? = nil) throws -> ServerCredentials {
        let authorization = password.map { "Basic " + Data("admin:\($0)".utf8).base64EncodedString() }
        return ServerCredentials(authorization: authorization, trust: .certificates(try certificates.map { try NIOSSLCertificate.fromPEMBytes($0) } ?? []))
    }

    /// What the client's library takes.
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
