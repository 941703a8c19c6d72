internal import Crypto
public import Foundation
internal import NIOSSL
internal import SwiftASN1

/// A certificate authority for some host names alone (RFC 5280). Its certificates let a server answer for hosts that
/// clients have compiled in.
///
/// Clients that trust the authority still refuse certificates that it would sign for other hosts. So its key opens
/// nothing else, even in wrong hands.
public struct CertificateAuthority: Sendable {
    /// The hosts, in lower case.
    public let hosts: [String]
    /// The certificate, in PEM form. Clients get it, to trust it.
    public let certificate: String
    /// The private key, in PEM form.
    public var privateKey: String { key.pemRepresentation }
    public let expiry: Date

    private let key: P256.Signing.PrivateKey

    private static let name = "Skylight, for tests on this machine"
    private static let lifetime: TimeInterval = 10 * 365 * 86_400
    /// Apple's systems accept server certificates of at most 825 days.
    private static let serverLifetime: TimeInterval = 800 * 86_400
    /// Clocks of clients may be slow.
    private static let clockTolerance: TimeInterval = 86_400

    /// Makes an authority with a new key.
    /// - Parameter hosts: names without ports.
    public init(for hosts: [String], now: Date = Date()) throws {
        let (key, expiry) = (P256.Signing.PrivateKey(), now + Self.lifetime)
        let bytes = try Self.certificate(
            of: Self.name, key.publicKey, signedBy: key, from: now - Self.clockTolerance, to: expiry,
            [
                Extension(.basicConstraints) { list in
                    try list.serialize(true)
                    // It signs no further authorities.
                    try list.serialize(0)
                },
                .keyUsage(ASN1BitString(bytes: [0b0000_0100], paddingBits: 2)),
                .serverAuthentication,
                Extension(.nameConstraints) { list in
                    list.appendConstructedNode(identifier: .context(0)) { permitted in
                        for host in hosts { permitted.subtree(of: .context(2), Array(host.utf8)) }
                    }
                    // Constraints on names leave addresses free: all of IPv4 and IPv6.
                    list.appendConstructedNode(identifier: .context(1)) { excluded in
                        for length in [8, 32] { excluded.subtree(of: .context(7), Array(repeating: 0, count: length)) }
                    }
                },
            ])
        self.hosts = hosts
        self.key = key
        self.expiry = expiry
        certificate = PEMDocument(type: "CERTIFICATE", derBytes: bytes).pemString + "\n"
    }

    /// Opens an authority that was made before.
    /// - Returns: `nil` if the texts are not the certificate and the private key of one, or if it has expired.
    public init?(for hosts: [String], certificate: String, privateKey: String, now: Date = Date()) {
        guard let key = try? P256.Signing.PrivateKey(pemRepresentation: privateKey),
            let parsed = try? NIOSSLCertificate(bytes: Array(certificate.utf8), format: .pem),
            let publicKey = try? parsed.extractPublicKey().toSPKIBytes(),
            publicKey.elementsEqual(key.publicKey.derRepresentation)
        else { return nil }
        expiry = Date(timeIntervalSince1970: TimeInterval(parsed.notValidAfter))
        guard expiry > now + Self.clockTolerance else { return nil }
        self.hosts = hosts
        self.key = key
        self.certificate = certificate
    }

    // MARK: The server's certificate

    /// A new certificate for the hosts, with the server's key.
    public func serverCertificate(now: Date = Date()) throws -> ServerCertificate {
        let (server, end) = (try serverKey, min(expiry, now + Self.serverLifetime))
        let bytes = try Self.certificate(
            of: hosts.first ?? "", server.publicKey, signedBy: key, from: now - Self.clockTolerance, to: end,
            [
                Extension(.basicConstraints) { _ in },
                .keyUsage(ASN1BitString(bytes: [0b1000_0000], paddingBits: 7)),
                .serverAuthentication,
                Extension(.subjectAlternativeName, isCritical: false) { list in
                    for host in hosts {
                        list.appendPrimitiveNode(identifier: .context(2)) { $0 += host.utf8 }
                    }
                },
            ])
        return try ServerCertificate(
            chain: [NIOSSLCertificate(bytes: bytes, format: .der)],
            key: NIOSSLPrivateKey(bytes: Array(server.derRepresentation), format: .der), expiry: end)
    }

    /// The SHA-256 hash of the server's public key in Base64. A browser can be told to accept this key alone.
    public var serverKeyHash: String {
        get throws { Data(SHA256.hash(data: try serverKey.publicKey.derRepresentation)).base64EncodedString() }
    }

    /// Made of the authority's own key, so that it is the same at each start although only one key is stored.
    private var serverKey: P256.Signing.PrivateKey {
        get throws {
            let bytes = HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: key.rawRepresentation), info: Data("server".utf8),
                outputByteCount: 32)
            return try P256.Signing.PrivateKey(rawRepresentation: bytes.withUnsafeBytes { Data($0) })
        }
    }

    // MARK: Certificates

    /// An extension of a certificate. Its value is a sequence.
    private struct Extension {
        let name: ASN1ObjectIdentifier
        var isCritical = true
        /// The value, in DER.
        let value: [UInt8]

        init(
            _ name: ASN1ObjectIdentifier, isCritical: Bool = true,
            _ list: (inout DER.Serializer) throws -> Void
        ) rethrows {
            self.name = name
            self.isCritical = isCritical
            var writer = DER.Serializer()
            try writer.appendConstructedNode(identifier: .sequence, list)
            value = writer.serializedBytes
        }

        private init(_ name: ASN1ObjectIdentifier, isCritical: Bool, of node: some DERSerializable) throws {
            self.name = name
            self.isCritical = isCritical
            var writer = DER.Serializer()
            try writer.serialize(node)
            value = writer.serializedBytes
        }

        static func keyUsage(_ bits: ASN1BitString) throws -> Extension {
            try Extension(.keyUsage, isCritical: true, of: bits)
        }

        static func identifier(of key: P256.Signing.PublicKey) throws -> Extension {
            try Extension(
                .subjectKeyIdentifier, isCritical: false, of: ASN1OctetString(contentBytes: hash(of: key)[...]))
        }

        /// Names the key that signed.
        static func signer(_ key: P256.Signing.PublicKey) -> Extension {
            Extension(.authorityKeyIdentifier, isCritical: false) { list in
                list.appendPrimitiveNode(identifier: .context(0)) { $0 += hash(of: key) }
            }
        }

        static var serverAuthentication: Extension {
            get throws {
                try Extension(.extendedKeyUsage, isCritical: false) {
                    try $0.serialize(ASN1ObjectIdentifier.forServers)
                }
            }
        }

        /// A name for a key, as RFC 7093 has it.
        private static func hash(of key: P256.Signing.PublicKey) -> [UInt8] {
            Array(SHA256.hash(data: key.x963Representation).prefix(20))
        }
    }

    /// - Returns: a certificate in DER.
    private static func certificate(
        of subject: String, _ subjectKey: P256.Signing.PublicKey, signedBy key: P256.Signing.PrivateKey,
        from start: Date, to end: Date, _ extensions: [Extension]
    ) throws -> [UInt8] {
        var content = DER.Serializer()
        try content.appendConstructedNode(identifier: .sequence) { content in
            // Version 3
            try content.serialize(explicitlyTaggedWithTagNumber: 0, tagClass: .contextSpecific) { try $0.serialize(2) }
            content.appendPrimitiveNode(identifier: .integer) { bytes in
                // A positive number without leading zeros
                bytes.append(.random(in: 1...0x7F))
                for _ in 0..<15 { bytes.append(.random(in: .min ... .max)) }
            }
            try content.signatureAlgorithm()
            try content.commonName(name)
            try content.appendConstructedNode(identifier: .sequence) { validity in
                try validity.time(start)
                try validity.time(end)
            }
            try content.commonName(subject)
            content.serializeRawBytes(subjectKey.derRepresentation)
            let extensions = try extensions + [.identifier(of: subjectKey), .signer(key.publicKey)]
            try content.serialize(explicitlyTaggedWithTagNumber: 3, tagClass: .contextSpecific) { part in
                try part.appendConstructedNode(identifier: .sequence) { list in
                    for item in extensions {
                        try list.appendConstructedNode(identifier: .sequence) { node in
                            try node.serialize(item.name)
                            if item.isCritical { try node.serialize(true) }
                            try node.serialize(ASN1OctetString(contentBytes: item.value[...]))
                        }
                    }
                }
            }
        }
        let signature = try key.signature(for: content.serializedBytes).derRepresentation
        var whole = DER.Serializer()
        try whole.appendConstructedNode(identifier: .sequence) { whole in
            whole.serializeRawBytes(content.serializedBytes)
            try whole.signatureAlgorithm()
            try whole.serialize(ASN1BitString(bytes: Array(signature)[...]))
        }
        return whole.serializedBytes
    }
}

// MARK: - DER

extension ASN1ObjectIdentifier {
    fileprivate static let commonName: ASN1ObjectIdentifier = [2, 5, 4, 3]
    fileprivate static let ecdsaWithSHA256: ASN1ObjectIdentifier = [1, 2, 840, 10045, 4, 3, 2]
    fileprivate static let subjectKeyIdentifier: ASN1ObjectIdentifier = [2, 5, 29, 14]
    fileprivate static let keyUsage: ASN1ObjectIdentifier = [2, 5, 29, 15]
    fileprivate static let subjectAlternativeName: ASN1ObjectIdentifier = [2, 5, 29, 17]
    fileprivate static let basicConstraints: ASN1ObjectIdentifier = [2, 5, 29, 19]
    fileprivate static let nameConstraints: ASN1ObjectIdentifier = [2, 5, 29, 30]
    fileprivate static let authorityKeyIdentifier: ASN1ObjectIdentifier = [2, 5, 29, 35]
    fileprivate static let extendedKeyUsage: ASN1ObjectIdentifier = [2, 5, 29, 37]
    fileprivate static let forServers: ASN1ObjectIdentifier = [1, 3, 6, 1, 5, 5, 7, 3, 1]
}

extension ASN1Identifier {
    fileprivate static func context(_ number: UInt) -> ASN1Identifier {
        ASN1Identifier(tagWithNumber: number, tagClass: .contextSpecific)
    }
}

extension DER.Serializer {
    fileprivate mutating func signatureAlgorithm() throws {
        try appendConstructedNode(identifier: .sequence) { try $0.serialize(ASN1ObjectIdentifier.ecdsaWithSHA256) }
    }

    fileprivate mutating func commonName(_ name: String) throws {
        try appendConstructedNode(identifier: .sequence) { names in
            try names.appendConstructedNode(identifier: .set) { set in
                try set.appendConstructedNode(identifier: .sequence) { pair in
                    try pair.serialize(ASN1ObjectIdentifier.commonName)
                    try pair.serialize(ASN1UTF8String(name))
                }
            }
        }
    }

    /// A subtree of names or addresses.
    fileprivate mutating func subtree(of kind: ASN1Identifier, _ base: [UInt8]) {
        appendConstructedNode(identifier: .sequence) { subtree in
            subtree.appendPrimitiveNode(identifier: kind) { $0 += base }
        }
    }

    /// Times until 2049 have two digits for the year.
    fileprivate mutating func time(_ date: Date) throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
        guard let year = parts.year, let month = parts.month, let day = parts.day, let hour = parts.hour,
            let minute = parts.minute, let second = parts.second
        else { throw CocoaError(.formatting) }
        if year < 2050 {
            try serialize(
                UTCTime(year: year, month: month, day: day, hours: hour, minutes: minute, seconds: second))
        } else {
            try serialize(
                GeneralizedTime(
                    year: year, month: month, day: day, hours: hour, minutes: minute, seconds: second,
                    fractionalSeconds: 0))
        }
    }
}
