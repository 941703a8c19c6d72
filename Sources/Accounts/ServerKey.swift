internal import Crypto
internal import Foundation
internal import GRDB
public import Records
internal import Synchronization

/// The public key of a server-to-server key of CloudKit Web Services, with which requests are signed.
public struct ServerKey: Sendable, Hashable {
    /// Maximum number of valid keys.
    public static let countLimit = 200

    /// 64 hexadecimal digits, as in `X-Apple-CloudKit-Request-KeyID`. Derived from the key, container and
    /// environment, so that a client's settings stay valid if the key is registered in another data folder. A key
    /// keeps its ID if its container is renamed.
    public let keyID: String
    /// The name for display.
    public let name: String
    public internal(set) var container: ContainerID
    public let environment: Environment
    /// The public key as written by `openssl ec -pubout`.
    public let publicKeyPEM: String
    /// The key's own user, who is the caller of requests signed with it.
    public let userRecordName: Name
    public let made: Timestamp
    public internal(set) var lastUsed: Timestamp?
    public internal(set) var revoked: Timestamp?

    public init(
        keyID: String, name: String, container: ContainerID, environment: Environment, publicKeyPEM: String,
        userRecordName: Name, made: Timestamp,
        lastUsed: Timestamp?, revoked: Timestamp?
    ) {
        self.keyID = keyID
        self.name = name
        self.container = container
        self.environment = environment
        self.publicKeyPEM = publicKeyPEM
        self.userRecordName = userRecordName
        self.made = made
        self.lastUsed = lastUsed
        self.revoked = revoked
    }

    /// True if signatures with the key are accepted.
    public var isLive: Bool { revoked == nil }
}

// MARK: - Managing keys

extension Accounts {
    /// Registers the public key of a server-to-server key. If it is registered already, the existing one is returned.
    /// - Parameters:
    /// - pem: a P-256 (prime256v1) key in PEM, as written by `openssl ec -pubout`.
    /// - name: the name for display, at most ``nameLimit`` bytes; if empty, a name is derived from the key.
    /// - Throws: `RecordError` BAD_REQUEST if the text is not such a key, the key was revoked there, or there are too
    ///   many keys.
    public func registerServerKey(
        pem: String, named name: String, container: ContainerID, environment: Records.Environment
    ) async throws -> ServerKey {
        let publicKey = try PublicKeyText.key(pem)
        let name = name.trimmingWhiteSpace
        try Self.checkName(name, of: "server key")
        let pem = publicKey.pemRepresentation
        @Sendable func registered(_ keys: [String: ServerKey]) -> ServerKey? {
            keys.values.first { $0.publicKeyPEM == pem && $0.container == container && $0.environment == environment }
        }
        let before = credentials.withLock { $0.keys }
        let keyID =
            registered(before)?.keyID
            ?? ServerKey.keyID(of: publicKey, container: container, environment: environment, besides: before)
        let user = try await existingOrNewUser(named: User.serverKeyPrefix + keyID.prefix(12), isServerKey: true)
        return try await queue.write { [self] database in
            let keys = credentials.withLock { $0.keys }
            if let key = registered(keys) {
                guard key.isLive else {
                    throw Records.RecordError(
                        .badRequest,
                        "The key \(key.keyID) was revoked in \(container) (\(environment.rawValue)), permanently; create a new key pair"
                    )
                }
                return key
            }
            guard keys.values.count(where: \.isLive) < ServerKey.countLimit else {
                throw Records.RecordError(
                    .badRequest, "There are \(ServerKey.countLimit) server keys, which is the limit; revoke one first")
            }
            let key = ServerKey(
                keyID: keyID, name: name.isEmpty ? "Server key \(keyID.prefix(8))" : name, container: container,
                environment: environment,
                publicKeyPEM: pem, userRecordName: user.userRecordName, made: Timestamp(Date()), lastUsed: nil,
                revoked: nil)
            try database.execute(
                sql:
                    "INSERT INTO serverKey (keyID, name, container, environment, publicKeyPEM, userRecordName, made) VALUES (?, ?, ?, ?, ?, ?, ?)",
                arguments: [
                    keyID, key.name, container.description, environment.rawValue, key.publicKeyPEM,
                    key.userRecordName.string, key.made.milliseconds,
                ])
            database.afterNextTransaction { [self] _ in credentials.withLock { $0.keys[keyID] = key } }
            return key
        }
    }

    /// All server keys including revoked ones, newest first.
    public func serverKeys() -> [ServerKey] {
        credentials.withLock { Array($0.keys.values) }.sorted { ($0.made, $0.keyID) > ($1.made, $1.keyID) }
    }

    /// The key with an ID, even if it is revoked.
    public func serverKey(_ keyID: String) -> ServerKey? {
        credentials.withLock { $0.keys[keyID.lowercased()] }
    }

    /// Revokes a key permanently. A revoked key stays unchanged.
    /// - Throws: `RecordError` NOT_FOUND if there is no such key.
    public func revokeServerKey(_ keyID: String) async throws -> ServerKey {
        let (keyID, now) = (keyID.lowercased(), Timestamp(Date()))
        return try await queue.write { [self] database in
            guard var key = credentials.withLock({ $0.keys[keyID] }) else {
                throw Records.RecordError(
                    .notFound,
                    "There is no server key '\(keyID.prefix(80))'; use an ID of 64 hexadecimal digits from the list")
            }
            guard key.isLive else { return key }
            key.revoked = now
            try database.execute(
                sql: "UPDATE serverKey SET revoked = ? WHERE keyID = ?", arguments: [now.milliseconds, keyID])
            database.afterNextTransaction { [self] _ in credentials.withLock { $0.keys[keyID]?.revoked = now } }
            return key
        }
    }
}

extension ServerKey {
    /// - Parameter keys: existing keys. A key of a renamed container keeps its ID, so a new key for the old name gets
    ///   another one.
    static func keyID(
        of key: P256.Signing.PublicKey, container: ContainerID, environment: Records.Environment,
        besides keys: [String: ServerKey]
    ) -> String {
        var (place, number) = ("\(container)/\(environment.rawValue)/", 1)
        while true {
            let keyID = Hexadecimal.text(of: SHA256.hash(data: Array(place.utf8) + key.derRepresentation))
            if keys[keyID] == nil { return keyID }
            number += 1
            place = "\(container)/\(environment.rawValue)/\(number)/"
        }
    }
}

// MARK: - Text of a public key

/// Parses the text of a public key.
enum PublicKeyText {
    private static let limit = 16_384
    private static let howTo =
        "create a key pair with 'openssl ecparam -name prime256v1 -genkey -noout -out eckey.pem' and register the output of 'openssl ec -in eckey.pem -pubout'"

    /// - Throws: `RecordError` BAD_REQUEST with a description of the text if it is not a public P-256 key in PEM.
    static func key(_ text: String) throws -> P256.Signing.PublicKey {
        let text = text.replacing("\r\n", with: "\n").trimmingWhiteSpace
        guard !text.isEmpty else { throw RecordError(.badRequest, "The key is empty: \(howTo)") }
        guard text.utf8.count <= limit else {
            throw RecordError(.badRequest, "The key is longer than \(limit) bytes, so it is not a P-256 key: \(howTo)")
        }
        guard let label = label(of: text) else {
            throw RecordError(
                .badRequest, "The key is not PEM: it doesn't contain '-----BEGIN PUBLIC KEY-----' and its end; \(howTo)"
            )
        }
        if label.hasSuffix("PRIVATE KEY") {
            throw RecordError(
                .badRequest,
                "This is the private key; keep it secret. Register the public key, which 'openssl ec -in eckey.pem -pubout' prints"
            )
        }
        switch label {
        case "PUBLIC KEY": break
        case "EC PARAMETERS":
            throw RecordError(
                .badRequest,
                "This is the name of a curve, not a key: remove 'BEGIN EC PARAMETERS', and register the output of 'openssl ec -in eckey.pem -pubout'"
            )
        case "CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE":
            throw RecordError(
                .badRequest,
                "This is a certificate: register only its key, which 'openssl x509 -in certificate.pem -pubkey -noout' prints"
            )
        case "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST":
            throw RecordError(
                .badRequest,
                "This is a certificate request: register only its key, which 'openssl req -in request.pem -pubkey -noout' prints"
            )
        case "RSA PUBLIC KEY":
            throw RecordError(.badRequest, "This is an RSA key, and requests are signed with P-256: \(howTo)")
        default: throw RecordError(.badRequest, "'BEGIN \(label.prefix(40))' is not a public key: \(howTo)")
        }
        // If this fails, the cause is determined below, with a better message.
        if let key = try? P256.Signing.PublicKey(pemRepresentation: block(of: text, label)) { return key }
        throw RecordError(.badRequest, "\(reason(text, label)): \(howTo)")
    }

    /// The label after the first `BEGIN` that has a matching end.
    private static func label(of text: String) -> String? {
        guard let start = text.range(of: "-----BEGIN "), let end = text[start.upperBound...].range(of: "-----") else {
            return nil
        }
        let label = String(text[start.upperBound..<end.lowerBound])
        // A private key may follow the curve's parameters.
        if label == "EC PARAMETERS", text.contains("PRIVATE KEY-----") { return "EC PRIVATE KEY" }
        return text.contains("-----END \(label)-----") ? label : nil
    }

    /// The PEM block without surrounding text.
    private static func block(of text: String, _ label: String) -> String {
        guard let start = text.range(of: "-----BEGIN \(label)-----"), let end = text.range(of: "-----END \(label)-----")
        else { return text }
        return start.lowerBound < end.upperBound ? String(text[start.lowerBound..<end.upperBound]) : text
    }

    /// The reason why a `PUBLIC KEY` block is not a P-256 key.
    private static func reason(_ text: String, _ label: String) -> String {
        let block = block(of: text, label)
        // Trying other curves shows which curve the key uses.
        if (try? P384.Signing.PublicKey(pemRepresentation: block)) != nil {
            return "This key uses the curve P-384, but requests are signed with P-256"
        }
        if (try? P521.Signing.PublicKey(pemRepresentation: block)) != nil {
            return "This key uses the curve P-521, but requests are signed with P-256"
        }
        let lines = block.split(separator: "\n").dropFirst().dropLast().joined()
        guard let data = Data(base64Encoded: lines.replacing(" ", with: "")) else {
            return "The content of the PEM is not base64"
        }
        for (bytes, name) in names where contains(Array(data), bytes) {
            return "This key is \(name), and requests are signed with P-256"
        }
        return "The PEM has no public key of the curve P-256 (prime256v1)"
    }

    /// Object identifiers of other kinds of keys.
    private static let names: [([UInt8], String)] = [
        ([0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01], "an RSA key"),
        ([0x06, 0x03, 0x2B, 0x65, 0x70], "an Ed25519 key"),
        ([0x06, 0x03, 0x2B, 0x65, 0x71], "an Ed448 key"),
        ([0x06, 0x03, 0x2B, 0x65, 0x6E], "an X25519 key"),
        ([0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x0A], "of the curve secp256k1"),
        ([0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x38, 0x04, 0x01], "a DSA key"),
    ]

    private static func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
        bytes.indices.contains { bytes[$0...].starts(with: part) }
    }
}
