internal import Crypto

/// Parsed keys, and recently accepted signatures with their messages.
struct SignatureMemory {
    /// The parts of a signed message.
    struct Message: Sendable, Hashable {
        let keyID: String
        let date: String
        let bodyHash: String
        let target: String
    }

    /// Maximum number of remembered signatures. The oldest are dropped.
    static let limit = 4096
    /// Maximum length of a remembered target in bytes.
    static let targetLimit = 2048

    /// Maximum number of messages returned by ``latest(of:)``, and number of signatures it searches.
    private static let (latestLimit, lookBack) = (4, 64)

    private var keys: [String: P256.Signing.PublicKey] = [:]
    private var messages: [[UInt8]: Message] = [:]
    private var order: [[UInt8]] = []
    private var next = 0
    var diagnoses = DiagnosisBudgets()

    mutating func publicKey(of key: ServerKey) -> P256.Signing.PublicKey? {
        if let known = keys[key.keyID] { return known }
        // The key was valid when it was registered. If the file was changed since, no signature verifies with it.
        let read = try? P256.Signing.PublicKey(pemRepresentation: key.publicKeyPEM)
        keys[key.keyID] = read
        return read
    }

    /// The message for which a signature was accepted; `nil` if unknown or too long ago.
    func message(of signature: P256.Signing.ECDSASignature) -> Message? {
        messages[Array(signature.rawRepresentation)]
    }

    /// The latest messages of a key, newest first, limited in number.
    func latest(of keyID: String) -> [Message] {
        var found: [Message] = []
        for step in 1...Self.lookBack where step <= order.count {
            let index = (next - step + 2 * order.count) % order.count
            if let message = messages[order[index]], message.keyID == keyID { found.append(message) }
            if found.count == Self.latestLimit { break }
        }
        return found
    }

    mutating func accepted(_ signature: P256.Signing.ECDSASignature, _ message: Message) {
        guard message.target.utf8.count <= Self.targetLimit else { return }
        let key = Array(signature.rawRepresentation)
        guard messages.updateValue(message, forKey: key) == nil else { return }
        if order.count < Self.limit {
            order.append(key)
        } else {
            messages[order[next]] = nil
            order[next] = key
            next = (next + 1) % Self.limit
        }
    }
}

/// Limits diagnoses, which take some milliseconds each, so that strangers can't overload the server. Each key has a
/// budget, so that one client's mistakes don't affect others, and all together have one.
struct DiagnosisBudgets {
    /// Diagnoses per key and in total, both as burst size and per second.
    static let (limitOfKey, limit) = (5, 10)

    enum All { case all }

    private var all = Budget<All>(atOnce: limit, interval: .seconds(1) / limit, keyLimit: 1)
    private var ofKeys = Budget<String>(atOnce: limitOfKey, interval: .seconds(1) / limitOfKey, keyLimit: 2 * ServerKey.countLimit)

    /// - Returns: `true` if another diagnosis is allowed.
    mutating func take(keyID: String, at now: ContinuousClock.Instant) -> Bool {
        guard case .after = ofKeys.take(keyID, at: now), case .after = all.take(.all, at: now) else { return false }
        return true
    }
}
