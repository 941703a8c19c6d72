internal import Crypto
public import Records

/// Seals and opens the tickets for uploads, saved assets and downloads, so that they can't be forged.
///
/// Tickets are base64url text of
///
/// | upload | receipt | download | bytes |
/// |---|---|---|---|
/// | kind | kind | kind | 1 |
/// | number | number | | 16 |
/// | expiry, ms | expiry, ms | expiry, ms | 6 |
/// | mark of the slot | mark of the slot | | 16 |
/// | | checksum, size | checksum, size | 32 + 6 |
///
/// followed by 16 bytes of the HMAC-SHA256 of these bytes. For downloads the HMAC also covers the file name, which
/// follows the ticket in the URL.
public struct AssetTickets: Sendable {
    /// Time in milliseconds within which an upload must start (Apple's reference page "Uploading Assets").
    public static let uploadLifetime: Int64 = 15 * 60 * 1000
    /// Time in milliseconds after an upload within which the record can be saved.
    public static let receiptLifetime: Int64 = 60 * 60 * 1000
    /// Time in milliseconds for which a used receipt is remembered after it expires. A second upload with the same
    /// ticket may start up to 15 minutes later and take long. Its receipt has the same number but expires later, and
    /// must not be accepted for a second save.
    static let spentReceiptMemory = uploadLifetime + 24 * 60 * 60 * 1000
    /// Minimum time in milliseconds for which a download can be started or resumed.
    public static let downloadLifetime: Int64 = 60 * 60 * 1000
    /// Interval in milliseconds during which a download URL stays the same, so that browsers can cache the file.
    private static let downloadStep: Int64 = 15 * 60 * 1000
    private static let sealLength = 16

    private enum Kind: UInt8 {
        case upload = 1
        case receipt, download
    }

    private let key: SymmetricKey

    /// - Parameter key: 32 secret bytes of the store.
    public init(key: [UInt8]) {
        self.key = SymmetricKey(data: key)
    }

    // MARK: Uploads and receipts

    public func seal(_ ticket: UploadTicket) -> String {
        seal([Kind.upload.rawValue] + ticket.number + Self.bytes(ticket.expires.milliseconds) + ticket.slot.bytes)
    }

    /// - Returns: `nil` if the ticket was not sealed with this key. The ticket may have expired.
    public func openUpload(_ text: some StringProtocol) -> UploadTicket? {
        guard let bytes = open(text, .upload, length: 39) else { return nil }
        return UploadTicket(
            number: Array(bytes[1..<17]), expires: Timestamp(milliseconds: Self.integer(bytes[17..<23])),
            slot: SlotDigest(bytes: Array(bytes[23..<39])))
    }

    public func seal(_ receipt: AssetReceipt) -> String {
        seal(
            [Kind.receipt.rawValue] + receipt.number + Self.bytes(receipt.expires.milliseconds) + receipt.slot.bytes
                + receipt.checksum.bytes
                + Self.bytes(receipt.size))
    }

    /// - Returns: `nil` if the receipt was not sealed with this key. The receipt may have expired.
    public func openReceipt(_ text: some StringProtocol) -> AssetReceipt? {
        guard let bytes = open(text, .receipt, length: 77), let checksum = FileChecksum(bytes: bytes[39..<71]) else {
            return nil
        }
        return AssetReceipt(
            number: Array(bytes[1..<17]), expires: Timestamp(milliseconds: Self.integer(bytes[17..<23])),
            slot: SlotDigest(bytes: Array(bytes[23..<39])),
            checksum: checksum, size: Self.integer(bytes[71..<77]))
    }

    /// A random number that identifies an upload.
    static func makeNumber() -> [UInt8] {
        (0..<16).map { _ in UInt8.random(in: .min ... .max) }
    }

    // MARK: Downloads

    /// - Parameter name: the file name of the download. The ticket is valid only with this name.
    public func seal(_ ticket: DownloadTicket, name: String) -> String {
        seal(
            [Kind.download.rawValue] + Self.bytes(ticket.expires.milliseconds) + ticket.checksum.bytes
                + Self.bytes(ticket.size), and: Array(name.utf8))
    }

    /// - Returns: `nil` if the ticket was not sealed with this key or for this name. The ticket may have expired.
    public func openDownload(_ text: some StringProtocol, name: String) -> DownloadTicket? {
        guard let bytes = open(text, .download, length: 45, and: Array(name.utf8)),
            let checksum = FileChecksum(bytes: bytes[7..<39])
        else {
            return nil
        }
        return DownloadTicket(
            checksum: checksum, size: Self.integer(bytes[39..<45]),
            expires: Timestamp(milliseconds: Self.integer(bytes[1..<7])))
    }

    /// Expiry of a download URL issued now.
    public static func downloadExpiry(_ now: Timestamp) -> Timestamp {
        Timestamp(milliseconds: (now.milliseconds / downloadStep + 1) * downloadStep + downloadLifetime)
    }

    // MARK: Sealing

    private func seal(_ bytes: [UInt8], and more: [UInt8] = []) -> String {
        Base64.text(of: bytes + checksum(of: bytes + more), forURLs: true)
    }

    private func open(_ text: some StringProtocol, _ kind: Kind, length: Int, and more: [UInt8] = []) -> [UInt8]? {
        let total = length + Self.sealLength
        guard text.utf8.count == (total * 4 + 2) / 3, let data = Base64.bytes(of: text.utf8), data.count == total,
            data.first == kind.rawValue
        else { return nil }
        let bytes = Array(data.prefix(length))
        // Compares all bytes, so that the time reveals nothing.
        let difference = zip(data.suffix(Self.sealLength), checksum(of: bytes + more)).reduce(0) { $0 | ($1.0 ^ $1.1) }
        return difference == 0 ? bytes : nil
    }

    private func checksum(of bytes: [UInt8]) -> [UInt8] {
        HMAC<SHA256>.authenticationCode(for: bytes, using: key).withUnsafeBytes { Array($0.prefix(Self.sealLength)) }
    }

    private static func bytes(_ integer: Int64) -> [UInt8] {
        stride(from: 40, through: 0, by: -8).map { UInt8(truncatingIfNeeded: integer >> Int64($0)) }
    }

    private static func integer(_ bytes: ArraySlice<UInt8>) -> Int64 {
        bytes.reduce(0) { $0 << 8 | Int64($1) }
    }
}

/// Permission to upload a file for a slot.
public struct UploadTicket: Sendable, Hashable {
    /// Identifies the upload.
    public let number: [UInt8]
    public let expires: Timestamp
    public let slot: SlotDigest
}

extension UploadTicket {
    /// A ticket for a file from the origin of a mirror. Clients can't use its receipt in a save.
    public init(storingUntil expires: Timestamp) {
        self.init(
            number: AssetTickets.makeNumber(), expires: expires, slot: SlotDigest(bytes: Array(repeating: 0, count: 16))
        )
    }
}

/// Proof that a file was uploaded for a slot. Can be used once.
public struct AssetReceipt: Sendable, Hashable {
    public let number: [UInt8]
    public let expires: Timestamp
    public let slot: SlotDigest
    public let checksum: FileChecksum
    /// Size in bytes.
    public let size: Int64

    init(number: [UInt8], expires: Timestamp, slot: SlotDigest, checksum: FileChecksum, size: Int64) {
        self.number = number
        self.expires = expires
        self.slot = slot
        self.checksum = checksum
        self.size = size
    }

    /// The time until which the receipt's number must be remembered as used. After it, no receipt with this number is
    /// valid.
    public var rememberedUntil: Timestamp {
        Timestamp(milliseconds: expires.milliseconds + AssetTickets.spentReceiptMemory)
    }

    /// The receipt of a completed upload. Of several uploads with the same ticket only one receipt can be used.
    public init(for ticket: UploadTicket, of checksum: FileChecksum, size: Int64, expires: Timestamp) {
        self.init(number: ticket.number, expires: expires, slot: ticket.slot, checksum: checksum, size: size)
    }
}

/// Permission to download a file.
public struct DownloadTicket: Sendable, Hashable {
    public let checksum: FileChecksum
    /// Size of the file in bytes when it was stored.
    public let size: Int64
    public var expires: Timestamp

    public init(checksum: FileChecksum, size: Int64, expires: Timestamp) {
        self.checksum = checksum
        self.size = size
        self.expires = expires
    }
}

/// Digest of the place in which a receipt may be used: one record field in one zone or in any zone, or any field in
/// one zone. It is always limited to one user.
public struct SlotDigest: Sendable, Hashable {
    let bytes: [UInt8]

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// A field of a record in one zone.
    init(zone: Int64, recordType: Name, recordName: Name, fieldName: Name, user: Name) {
        self.init(digesting: ["field", Name(String(zone)), recordType, recordName, fieldName, user])
    }

    /// A field of a record in any zone of the user's database.
    init(anyZoneOf scope: DatabaseScope, recordType: Name, recordName: Name, fieldName: Name, user: Name) {
        self.init(digesting: ["database", Name(scope.rawValue), recordType, recordName, fieldName, user])
    }

    /// Any field of any record in a zone.
    init(zone: Int64, user: Name) {
        self.init(digesting: ["zone", Name(String(zone)), user])
    }

    private init(digesting parts: [Name]) {
        var hash = SHA256()
        for part in parts {
            hash.update(data: Array("\(part.utf8.count):".utf8))
            hash.update(data: Array(part.utf8))
        }
        bytes = Array(hash.finalize().prefix(16))
    }
}
