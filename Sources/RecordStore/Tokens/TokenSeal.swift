internal import Crypto
public import Records

/// The content of a change token before sealing.
public struct TokenContent: Sendable, Hashable {
    /// The feed of the token. Identified by number, because a recreated zone has the same name but another number.
    public enum Subject: Sendable, Hashable {
        case database
        case zone(Int64)
        /// A user's key-value store.
        case keyValues
    }

    /// The progress of a pull.
    public enum Progress: Sendable, Hashable {
        /// The client has seen everything up to the position.
        case complete
        /// Within a pull without a token that began at this position. Earlier deletions are not reported.
        case firstPull(began: Int64)
        /// Within a pull since this position, which decides whether records count as created or modified.
        case pull(since: Int64)
        /// Within a pull from new to old, from `began` down to `since`. It ends with a complete token for `began`.
        case reversePull(began: Int64, since: Int64)
    }

    public var scope: DatabaseScope
    /// User number of the owner of the database; 0 for the public database.
    public var databaseNumber: Int64
    public var subject: Subject
    /// The client has seen everything up to this position; in a reverse pull, everything from it on.
    public var position: Int64
    public var progress: Progress
    /// Number of the epoch in which the latest position of the token was committed.
    public var epoch: UInt32
    /// Commit time of the position.
    public var moment: Timestamp

    public init(
        scope: DatabaseScope, databaseNumber: Int64, subject: Subject, position: Int64, progress: Progress = .complete,
        epoch: UInt32,
        moment: Timestamp
    ) {
        self.scope = scope
        self.databaseNumber = databaseNumber
        self.subject = subject
        self.position = position
        self.progress = progress
        self.epoch = epoch
        self.moment = moment
    }
}

// MARK: - Encoding

/// Encodes token content into bytes with a keyed checksum, and decodes it.
///
/// Encoding is deterministic. A token has 36 bytes (48 characters in base64), and 5 more in a reverse pull:
///
/// | bytes | content |
/// |---|---|
/// | 1 | format version, 4 bits; progress, 3 bits; zone token, 1 bit |
/// | 1 | scope |
/// | 4 | database number |
/// | 4 | zone number; 0 in a zone token is a key-value store |
/// | 4 | epoch |
/// | 5 | position |
/// | 5 | start of the pull |
/// | 6 | time of the position, in milliseconds |
/// | 5 | in a reverse pull: its lower bound |
/// | 6 | truncated HMAC-SHA256 of the preceding bytes |
public struct TokenSeal: Sendable {
    private static let version: UInt8 = 1
    private static let checksumLength = 6
    /// The number of bytes of a token, and of one in a reverse pull.
    private static let (length, reverseLength) = (36, 41)

    private let key: SymmetricKey

    /// - Parameter key: 32 secret bytes of the store.
    public init(key: [UInt8]) {
        self.key = SymmetricKey(data: key)
    }

    /// Random secret bytes for a new store.
    public static func makeKey() -> [UInt8] {
        SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }
    }

    /// Derives secret bytes from a secret. The result is deterministic for each purpose and can't be computed without
    /// the secret.
    public static func makeKey(from secret: [UInt8], for purpose: String) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array(purpose.utf8), using: SymmetricKey(data: secret)))
    }

    public func seal(_ content: TokenContent) -> ChangeToken {
        var bytes: [UInt8] = []
        let (code, began, since): (UInt8, Int64, Int64?) =
            switch content.progress {
            case .complete: (0, 0, nil)
            case .firstPull(let began): (1, began, nil)
            case .pull(let since): (2, since, nil)
            case .reversePull(let began, let since): (3, began, since)
            }
        let zoneNumber: Int64? =
            switch content.subject {
            case .database: nil
            case .zone(let number): number
            case .keyValues: 0
            }
        bytes.append(Self.version << 4 | code << 1 | (zoneNumber == nil ? 0 : 1))
        bytes.append(UInt8(DatabaseScope.allCases.firstIndex(of: content.scope) ?? 0))
        bytes.append(integer: content.databaseNumber, length: 4)
        bytes.append(integer: zoneNumber ?? 0, length: 4)
        bytes.append(integer: Int64(content.epoch), length: 4)
        bytes.append(integer: content.position, length: 5)
        bytes.append(integer: began, length: 5)
        bytes.append(integer: content.moment.milliseconds, length: 6)
        if let since { bytes.append(integer: since, length: 5) }
        return ChangeToken(bytes: bytes + checksum(of: bytes))
    }

    /// - Returns: `nil` if the token was not sealed with this key.
    public func open(_ token: ChangeToken) -> TokenContent? {
        let sealed = token.bytes
        guard sealed.count == Self.length || sealed.count == Self.reverseLength else { return nil }
        let bytes = Array(sealed.dropLast(Self.checksumLength))
        guard checksum(of: bytes) == Array(sealed.suffix(Self.checksumLength)), bytes[0] >> 4 == Self.version,
            DatabaseScope.allCases.indices.contains(Int(bytes[1]))
        else { return nil }
        let began = bytes.integer(at: 19, length: 5)
        let progress: TokenContent.Progress
        switch (bytes[0] >> 1 & 0b111, bytes.count) {
        case (0, 30): progress = .complete
        case (1, 30): progress = .firstPull(began: began)
        case (2, 30): progress = .pull(since: began)
        case (3, 35): progress = .reversePull(began: began, since: bytes.integer(at: 30, length: 5))
        default: return nil
        }
        let zoneNumber = bytes.integer(at: 6, length: 4)
        let ofZone: TokenContent.Subject = zoneNumber == 0 ? .keyValues : .zone(zoneNumber)
        return TokenContent(
            scope: DatabaseScope.allCases[Int(bytes[1])], databaseNumber: bytes.integer(at: 2, length: 4),
            subject: bytes[0] & 1 == 1 ? ofZone : .database, position: bytes.integer(at: 14, length: 5),
            progress: progress,
            epoch: UInt32(truncatingIfNeeded: bytes.integer(at: 10, length: 4)),
            moment: Timestamp(milliseconds: bytes.integer(at: 24, length: 6)))
    }

    /// The length in bytes of a token that begins with these bytes; `nil` if no token begins like this. At least 8
    /// bytes are needed.
    ///
    /// No key is needed, so this also recognizes tokens of other stores, and tokens that were truncated or changed.
    public static func wholeLength(ofTokenBeginning bytes: [UInt8]) -> Int? {
        guard bytes.count >= 8, bytes[0] >> 4 == version, DatabaseScope.allCases.indices.contains(Int(bytes[1])),
            // Zone numbers are small. Database numbers can have any value.
            bytes[6] == 0
        else { return nil }
        return switch bytes[0] >> 1 & 0b111 {
        case 0, 1, 2: length
        case 3: reverseLength
        default: nil
        }
    }

    private func checksum(of bytes: [UInt8]) -> [UInt8] {
        HMAC<SHA256>.authenticationCode(for: bytes, using: key).withUnsafeBytes {
            Array($0.prefix(Self.checksumLength))
        }
    }
}

extension [UInt8] {
    /// Appends the low bytes of an integer in big-endian order.
    fileprivate mutating func append(integer: Int64, length: Int) {
        for shift in stride(from: (length - 1) * 8, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: integer >> shift))
        }
    }

    fileprivate func integer(at offset: Int, length: Int) -> Int64 {
        self[offset..<(offset + length)].reduce(0) { $0 << 8 | Int64($1) }
    }
}
