internal import Crypto

/// What signing needs in memory: keys that were read, and signatures that were accepted lately, with what they were of.
struct SignatureMemory {
    /// Parts of a message that was signed.
    struct Message: Sendable, Hashable {
        let keyID: String
        let date: String
        let bodyHash: String
        let target: String
    }

    /// Most signatures that are remembered; the oldest go first.
    static let limit = 4096
    /// Longest target that is remembered, in bytes.
    static let targetLimit = 2048

    /// Most messages that ``latest(of:)`` finds, and how far back it looks for them.
    private static let (latestLimit, lookBack) = (4, 64)

    private var keys: [String: P256.Signing.PublicKey] = [:]
    private var messages: [[UInt8]: Message] = [:]
    private var order: [[UInt8]] = []
    private var next = 0
    var diagnoses = DiagnosisBudgets()

    mutating func publicKey(of key: ServerKey) -> P256.Signing.PublicKey? {
        if let known = keys[key.keyID] { return known }
        // It was read when it was registered; a file that was altered since makes it a key that nothing is signed with.
        let read = try? P256.Signing.PublicKey(pemRepresentation: key.publicKeyPEM)
        keys[key.keyID] = read
        return read
    }

    /// What a signature was accepted for; `nil` when it never was, or long ago.
    func message(of signature: P256.Signing.ECDSASignature) -> Message? {
        messages[Array(signature.rawRepresentation)]
    }

    /// The latest messages of a key, the newest first; some at most.
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

/// Keeps diagnoses from becoming work that strangers can make for the server: each takes some milliseconds. Each key has some, so that one
/// client's mistakes leave the others theirs, and all together have some.
struct DiagnosisBudgets {
    /// Those of a key, and of all together: so many at once, and as many in each second.
    static let (limitOfKey, limit) = (5, 10)

    enum All { case all }

    private var all = Budget<All>(atOnce: limit, interval: .seconds(1) / limit, keyLimit: 1)
    private var ofKeys = Budget<String>(atOnce: limitOfKey, interval: .seconds(1) / limitOfKey, keyLimit: 2 * ServerKey.countLimit)

    /// - Returns: whether there may be one more.
    mutating func take(keyID: String, at now: ContinuousClock.Instant) -> Bool {
        guard case .after = ofKeys.take(keyID, at: now), case .after = all.take(.all, at: now) else { return false }
        return true
    }
}
