public import Foundation
internal import HummingbirdTLS
internal import NIOSSL

/// The certificate and the private key that a server shows to its clients.
public struct ServerCertificate: Sendable {
    /// Why there is none.
    public struct Problem: Error {
        public let reason: String
        /// What to do.
        public let remedy: String
        /// Whether a file is missing or can't be read, and not what is in it wrong.
        public let isMissingFile: Bool
    }

    let configuration: TLSConfiguration
    /// The first day on which clients refuse the certificate.
    public let expiry: Date

    /// Reads both files, and makes sure that they belong together.
    /// - Parameters:
    ///   - certificateFile: PEM: the server's certificate, then those that it was signed with, if any.
    ///   - keyFile: PEM, without a password.
    public init(certificateFile: String, keyFile: String) throws(Problem) {
        let chain = try Self.certificates(in: certificateFile)
        let key = try Self.key(in: keyFile)
        guard let first = chain.first else {
            throw Problem(
                reason: "The file \(certificateFile) holds no certificate", remedy: "It begins with -----BEGIN CERTIFICATE-----, the server's own first",
                isMissingFile: false)
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        do {
            _ = try NIOSSLContext(configuration: configuration)
        } catch {
            throw Problem(
                reason: "The private key in \(keyFile) is not that of the first certificate in \(certificateFile)",
                remedy: "Give the two that were made together, the server's own certificate before those that it was signed with", isMissingFile: false)
        }
        self.configuration = configuration
        expiry = Date(timeIntervalSince1970: TimeInterval(first.notValidAfter))
    }

    private static func certificates(in file: String) throws(Problem) -> [NIOSSLCertificate] {
        let bytes = try bytes(of: file)
        do {
            return try NIOSSLCertificate.fromPEMBytes(bytes)
        } catch {
            throw Problem(
                reason: "The file \(file) holds no certificate in PEM form",
                remedy: "It begins with -----BEGIN CERTIFICATE-----; openssl x509 -inform der -in FILE makes it of a .der or .cer file", isMissingFile: false)
        }
    }

    private static func key(in file: String) throws(Problem) -> NIOSSLPrivateKey {
        let bytes = try bytes(of: file)
        do {
            // With a password OpenSSL would ask for it on the terminal.
            if bytes.firstRange(of: Array("ENCRYPTED".utf8)) != nil { throw EncryptedKey() }
            return try NIOSSLPrivateKey(bytes: bytes, format: .pem)
        } catch is EncryptedKey {
            throw Problem(
                reason: "The private key in \(file) is locked with a password", remedy: "Unlock it into a file that only you can read: openssl pkey -in FILE -out FILE2",
                isMissingFile: false)
        } catch {
            throw Problem(
                reason: "The file \(file) holds no private key in PEM form", remedy: "It begins with -----BEGIN PRIVATE KEY----- or -----BEGIN EC PRIVATE KEY-----",
                isMissingFile: false)
        }
    }

    private struct EncryptedKey: Error {}

    private static func bytes(of file: String) throws(Problem) -> [UInt8] {
        do {
            return [UInt8](try Data(contentsOf: URL(filePath: file)))
        } catch {
            throw Problem(
                reason: "The file \(file) can't be read: \(error.localizedDescription)", remedy: "Give the path of a PEM file that the server may read",
                isMissingFile: true)
        }
    }
}
