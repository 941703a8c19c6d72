internal import Crypto
public import Foundation
public import Records
internal import Synchronization

/// A request with the three headers of a server-to-server key.
public struct SignedRequest: Sendable, Hashable {
    /// `X-Apple-CloudKit-Request-KeyID`.
    public var keyID: String
    /// `X-Apple-CloudKit-Request-ISO8601Date`.
    public var date: String
    /// `X-Apple-CloudKit-Request-SignatureV1`.
    public var signature: String
    /// The bytes of the body as sent.
    public var body: [UInt8]
    /// The path and query as in the request line.
    public var target: String
    public var container: ContainerID
    public var environment: Environment
    /// The origin to which the request was sent, such as `http://localhost:8080`. Used only for diagnoses.
    public var origin: String?

    public init(
        keyID: String, date: String, signature: String, body: [UInt8], target: String, container: ContainerID,
        environment: Environment,
        origin: String? = nil
    ) {
        self.keyID = keyID
        self.date = date
        self.signature = signature
        self.body = body
        self.target = target
        self.container = container
        self.environment = environment
        self.origin = origin
    }
}

// MARK: - Message

/// The message that a server-to-server key signs: `{date}:{base64 of the SHA-256 of the body}:{path with its query}`
/// (Apple: "Composing Web Service Requests", authenticate with a server-to-server key).
public enum RequestSignature {
    /// Maximum difference in seconds between a request's date and the server's time.
    public static let window = 600

    /// The message of a request.
    /// - Parameter target: path and query as in the request line.
    public static func message(date: String, body: [UInt8], target: String) -> String {
        "\(date):\(bodyHash(body)):\(target)"
    }

    /// The part of the message for a body: the base64 of its SHA-256.
    public static func bodyHash(_ body: [UInt8]) -> String {
        Data(SHA256.hash(data: body)).base64EncodedString()
    }

    /// Parses a date in the header's format, `yyyy-MM-ddTHH:mm:ssZ`, into seconds since 1970; `nil` for any other
    /// format.
    public static func moment(of date: String) -> Int64? {
        let bytes = Array(date.utf8)
        guard bytes.count == 20 else { return nil }
        let numbers = [0..<4, 5..<7, 8..<10, 11..<13, 14..<16, 17..<19].map {
            Int64(String(decoding: bytes[$0], as: UTF8.self)) ?? -1
        }
        guard numbers[0] >= 1, let day = CivilDate(year: numbers[0], month: numbers[1], day: numbers[2]) else {
            return nil
        }
        let moment = day.daysSince1970 * 86_400 + numbers[3] * 3600 + numbers[4] * 60 + numbers[5]
        return self.date(of: moment).utf8.elementsEqual(bytes) ? moment : nil
    }

    /// Formats a time for the header.
    /// - Parameter moment: seconds since 1970.
    public static func date(of moment: Int64) -> String {
        UTCTime(seconds: moment).isoText
    }
}

// MARK: - Verification

extension Accounts {
    /// Verifies the signature of a request and explains an invalid one.
    ///
    /// Verifying a valid signature takes as long as hashing the body. An invalid one takes up to some tens of
    /// milliseconds more.
    /// - Parameters:
    /// - knownTargets: paths without queries that the client may have meant: the services of the request's container
    ///   and environment.
    /// - now: the time with which the request's date is compared.
    /// - isUse: `true` for a real request. Its key then counts as used, and its signature is remembered.
    public func verify(_ request: SignedRequest, knownTargets: [String], now: Date, isUse: Bool = true)
        -> SignatureVerdict
    {
        verify(request, knownTargets: knownTargets, now: now, isUse: isUse, at: .now)
    }

    /// - Parameter moment: time on the monotonic clock, for limiting diagnoses.
    func verify(
        _ request: SignedRequest, knownTargets: [String], now: Date, isUse: Bool = true,
        at moment: ContinuousClock.Instant
    ) -> SignatureVerdict {
        if let problem = SignatureProblem.incomplete(request) { return .refused(problem) }
        let key = serverKey(request.keyID)
        if let key, !key.isLive { return .refused(.revokedKey(key)) }
        if let key, key.container != request.container || key.environment != request.environment {
            return .refused(.otherPlace(key, request))
        }
        guard let key, let publicKey = signatures.withLock({ $0.publicKey(of: key) }) else {
            return .refused(.unknownKey(request.keyID, of: serverKeys(), for: request))
        }
        let diagnosis = SignatureDiagnosis(request, of: key, publicKey, knownTargets: knownTargets, now: now)
        if let signature = diagnosis.signature, let form = diagnosis.signed {
            if let problem = diagnosis.problemOfDateAlone { return .refused(problem) }
            guard isUse else { return .accepted(key) }
            signatures.withLock { $0.accepted(signature, form) }
            credentials.withLock { $0.keys[key.keyID]?.lastUsed = Timestamp(now) }
            noteUse(.key(key.keyID))
            return .accepted(serverKey(key.keyID) ?? key)
        }
        let keys = serverKeys().filter { $0.keyID != key.keyID }.prefix(SignatureDiagnosis.otherKeyLimit)
        let (remembered, others, earlier) = signatures.withLock { memory in
            let others = keys.compactMap { other in memory.publicKey(of: other).map { (other, $0) } }
            return (diagnosis.signature.flatMap { memory.form(of: $0) }, others, memory.latest(of: key.keyID))
        }
        return .refused(
            diagnosis.problem(remembered: remembered, otherKeys: others, earlier: earlier) {
                signatures.withLock { $0.diagnoses.take(keyID: key.keyID, at: moment) }
            })
    }
}

// MARK: - Accepted signatures

/// Parsed keys, and recently accepted signatures with the forms of their requests.
struct SignatureMemory {
    /// Maximum number of remembered signatures. The oldest are dropped.
    static let limit = 4096
    /// Maximum length of a remembered target in bytes.
    static let targetLimit = 2048

    /// Maximum number of forms returned by ``latest(of:)``, and number of signatures it searches.
    private static let (latestLimit, lookBack) = (4, 64)

    private var keys: [String: P256.Signing.PublicKey] = [:]
    private var forms: [[UInt8]: SignedForm] = [:]
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

    /// The form for which a signature was accepted; `nil` if unknown or too long ago.
    func form(of signature: P256.Signing.ECDSASignature) -> SignedForm? {
        forms[Array(signature.rawRepresentation)]
    }

    /// The latest forms of a key, newest first, limited in number.
    func latest(of keyID: String) -> [SignedForm] {
        let steps = 1...min(Self.lookBack, max(order.count, 1))
        let latest = steps.lazy.compactMap { step in
            order.isEmpty ? nil : forms[order[(next - step + 2 * order.count) % order.count]]
        }
        return Array(latest.filter { $0[.key] == keyID }.prefix(Self.latestLimit))
    }

    mutating func accepted(_ signature: P256.Signing.ECDSASignature, _ form: SignedForm) {
        guard form[.target].utf8.count <= Self.targetLimit else { return }
        let key = Array(signature.rawRepresentation)
        guard forms.updateValue(form, forKey: key) == nil else { return }
        if order.count < Self.limit {
            order.append(key)
        } else {
            forms[order[next]] = nil
            order[next] = key
            next = (next + 1) % Self.limit
        }
    }
}

/// Limits diagnoses, which take some milliseconds each, so that strangers can't overload the server. Each key has a
/// budget, so that one client's mistakes don't affect others. A further budget limits all keys together.
struct DiagnosisBudgets {
    /// Diagnoses per key and in total, both as burst size and per second.
    static let (limitOfKey, limit) = (5, 10)

    enum All { case all }

    private var all = Budget<All>(atOnce: limit, interval: .seconds(1) / limit, keyLimit: 1)
    private var ofKeys = Budget<String>(
        atOnce: limitOfKey, interval: .seconds(1) / limitOfKey, keyLimit: 2 * ServerKey.countLimit)

    /// - Returns: `true` if another diagnosis is allowed.
    mutating func take(keyID: String, at now: ContinuousClock.Instant) -> Bool {
        guard case .after = ofKeys.take(keyID, at: now), case .after = all.take(.all, at: now) else { return false }
        return true
    }
}
