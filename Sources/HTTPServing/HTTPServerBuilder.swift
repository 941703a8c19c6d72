public import Foundation
public import HummingbirdCore
internal import HummingbirdTLS
public import NIOCore
internal import NIOSSL

extension HTTPServerBuilder {
    /// An HTTP/1.1 server with guarded connections, each on its own event loop. Targets are passed on unchanged, and heads
    /// are limited to 64 KiB.
    /// By default a connection is closed after one minute without input, or after two minutes in which the client
    /// accepted no bytes of its answer.
    ///
    /// For use with ``Routes/addGuards(trusting:tokensOf:isSecure:memory:)``.
    /// - Parameters:
    ///   - uploadLimit: the maximum size in bytes of a body for `/assets/`. Larger bodies get no 100 Continue.
    ///   - idleTimeout: the maximum time without input.
    public static func guardedHTTP1(uploadLimit: Int64 = 0, idleTimeout: TimeAmount = .seconds(60)) -> HTTPServerBuilder
    {
        HTTPServerBuilder { responder in
            EventLoopChannel(
                HTTP1Channel(
                    responder: responder,
                    configuration: guardedConfiguration(uploadLimit: uploadLimit, idleTimeout: idleTimeout)))
        }
    }

    static func guardedConfiguration(uploadLimit: Int64, idleTimeout: TimeAmount = .seconds(60))
        -> HTTP1Channel.Configuration
    {
        // A slow but steady reader opens the TCP window in steps, so its progress can be invisible for some time.
        let patience = TimeAmount.nanoseconds(2 * idleTimeout.nanoseconds)
        return HTTP1Channel.Configuration(
            additionalChannelHandlers: [ConnectionGuardInstaller(uploadLimit: uploadLimit, patience: patience)],
            idleTimeout: idleTimeout,
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: 32 << 10, maxHeaderListSize: 64 << 10, maxHeaderFieldCount: 200))
    }

    /// The same server over TLS. For use with `isSecure` of ``Routes/addGuards(trusting:tokensOf:isSecure:memory:)``.
    /// - Parameter certificate: `nil` for no TLS.
    /// - Throws: an error of the TLS library.
    public func encrypted(with certificate: ServerCertificate?) throws -> HTTPServerBuilder {
        guard let certificate else { return self }
        return try .tls(self, tlsConfiguration: certificate.configuration)
    }
}

// MARK: - TLS

/// The server's certificate and private key for TLS.
public struct ServerCertificate: Sendable {
    /// The error for certificate files that cannot be used.
    public struct Problem: Error {
        public let reason: String
        /// Advice on how to solve the problem.
        public let remedy: String
        /// True if a file is missing or unreadable, false if its content is invalid.
        public let isMissingFile: Bool
    }

    let configuration: TLSConfiguration
    /// The expiry date of the certificate.
    public let expiry: Date

    /// Reads both files, and checks that the key matches the certificate.
    /// - Parameters:
    ///   - certificateFile: a PEM file: the server's certificate, then any intermediate certificates.
    ///   - keyFile: a PEM file without a password.
    public init(certificateFile: String, keyFile: String) throws(Problem) {
        let chain = try Self.certificates(in: certificateFile)
        let key = try Self.key(in: keyFile)
        guard let first = chain.first else {
            throw Problem(
                reason: "The file \(certificateFile) has no certificate",
                remedy: "It must begin with -----BEGIN CERTIFICATE-----, the server's own certificate first",
                isMissingFile: false)
        }
        do {
            try self.init(
                chain: chain, key: key, expiry: Date(timeIntervalSince1970: TimeInterval(first.notValidAfter)))
        } catch {
            throw Problem(
                reason: "The private key in \(keyFile) does not match the first certificate in \(certificateFile)",
                remedy: "Use a matching pair, and put the server's own certificate before its issuers",
                isMissingFile: false)
        }
    }

    /// - Throws: an error of the TLS library if the key is not that of the first certificate.
    init(chain: [NIOSSLCertificate], key: NIOSSLPrivateKey, expiry: Date) throws {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        _ = try NIOSSLContext(configuration: configuration)
        self.configuration = configuration
        self.expiry = expiry
    }

    private static func certificates(in file: String) throws(Problem) -> [NIOSSLCertificate] {
        let bytes = try bytes(of: file)
        do {
            return try NIOSSLCertificate.fromPEMBytes(bytes)
        } catch {
            throw Problem(
                reason: "The file \(file) has no certificate in PEM form",
                remedy:
                    "It must begin with -----BEGIN CERTIFICATE-----; openssl x509 -inform der -in FILE converts a .der or .cer file",
                isMissingFile: false)
        }
    }

    private static func key(in file: String) throws(Problem) -> NIOSSLPrivateKey {
        let bytes = try bytes(of: file)
        do {
            // OpenSSL would prompt for the password on the terminal.
            if bytes.firstRange(of: Array("ENCRYPTED".utf8)) != nil { throw EncryptedKey() }
            return try NIOSSLPrivateKey(bytes: bytes, format: .pem)
        } catch is EncryptedKey {
            throw Problem(
                reason: "The private key in \(file) is encrypted with a password",
                remedy: "Decrypt it into a file that only you can read: openssl pkey -in FILE -out FILE2",
                isMissingFile: false)
        } catch {
            throw Problem(
                reason: "The file \(file) has no private key in PEM form",
                remedy: "It must begin with -----BEGIN PRIVATE KEY----- or -----BEGIN EC PRIVATE KEY-----",
                isMissingFile: false)
        }
    }

    private struct EncryptedKey: Error {}

    private static func bytes(of file: String) throws(Problem) -> [UInt8] {
        do {
            return [UInt8](try Data(contentsOf: URL(filePath: file)))
        } catch {
            throw Problem(
                reason: "The file \(file) can't be read: \(error.localizedDescription)",
                remedy: "Give the path of a PEM file that the server may read",
                isMissingFile: true)
        }
    }
}
