internal import Crypto
internal import Foundation
internal import GRDB
internal import JSON
public import Records
internal import Synchronization
internal import Text

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
        let keyID = registered(before)?.keyID ?? ServerKey.keyID(of: publicKey, container: container, environment: environment, besides: before)
        let user = try await existingOrNewUser(named: User.serverKeyPrefix + keyID.prefix(12), isServerKey: true)
        return try await queue.write { [self] database in
            let keys = credentials.withLock { $0.keys }
            if let key = registered(keys) {
                guard key.isLive else {
                    throw Records.RecordError(
                        .badRequest, "The key \(key.keyID) was revoked in \(container) (\(environment.rawValue)), permanently; create a new key pair")
                }
                return key
            }
            guard keys.values.count(where: \.isLive) < ServerKey.countLimit else {
                throw Records.RecordError(.badRequest, "There are \(ServerKey.countLimit) server keys, which is the limit; revoke one first")
            }
            let key = ServerKey(
                keyID: keyID, name: name.isEmpty ? "Server key \(keyID.prefix(8))" : name, container: container, environment: environment,
                publicKeyPEM: pem, userRecordName: user.userRecordName, made: Timestamp(Date()), lastUsed: nil, revoked: nil)
            try database.execute(
                sql: "INSERT INTO serverKey (keyID, name, container, environment, publicKeyPEM, userRecordName, made) VALUES (?, ?, ?, ?, ?, ?, ?)",
                arguments: [
                    keyID, key.name, container.description, environment.rawValue, key.publicKeyPEM, key.userRecordName.string, key.made.milliseconds,
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
                throw Records.RecordError(.notFound, "There is no server key '\(keyID.prefix(80))'; use an ID of 64 hexadecimal digits from the list")
            }
            guard key.isLive else { return key }
            key.revoked = now
            try database.execute(sql: "UPDATE serverKey SET revoked = ? WHERE keyID = ?", arguments: [now.milliseconds, keyID])
            database.afterNextTransaction { [self] _ in credentials.withLock { $0.keys[keyID]?.revoked = now } }
            return key
        }
    }
}

extension ServerKey {
    /// - Parameter keys: existing keys. A key of a renamed container keeps its ID, so a new key for the old name gets
    ///   another one.
    static func keyID(
        of key: P256.Signing.PublicKey, container: ContainerID, environment: Records.Environment, besides keys: [String: ServerKey]
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
