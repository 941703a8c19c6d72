/// The text of an error that CloudKit or Skylight sends, with its cause and remedy. All cases together are the
/// catalogue of errors.
///
/// An error does not store its case. The case is determined from the error's code and text, whether the error was
/// created here, comes from another server, or was found in a log or in pasted text. So there is one way to
/// distinguish errors, and it works for all of them:
/// ```swift
/// throw RecordError(known: .newFieldInProduction, field, type)
/// if error.known == .expiredToken { … }
/// ```
/// Each case is one row of the table in `KnownReason+Table.swift`.
public enum KnownReason: Sendable, Hashable, CaseIterable {
    // CloudKit: queries
    case recordNameNotQueryable, notQueryable, notSortable, notMarked, typeNotIndexable, unknownType, unknownField
    case fieldNotFound, systemTypeQueried, wrongFilterType, encryptedFilter, wrongComparator, tooManyFilterValues
    case invalidPredicate
    // CloudKit: saves
    case recordExists, staleTag, tagOfDeletedRecord, recordNotFound, wrongValueType, encryptedValueType
    case encryptedInPublic, encryptedIntoPlain, wrongValue, newTypeInProduction, newFieldInProduction, badTypeName
    case longRecordName, recordTooLarge, quotaExceeded, stillReferenced, parentCycle, atomicFailure
    case sameRecordTwice, tooManyItems, arrayTooLong, unexpectedInput, unexpectedFieldValue, badRequestException
    // CloudKit: zones and changes
    case zoneNotFound, zonePurged, expiredToken, unknownToken, noFeed, reverseShared, otherUsersZone
    case onlySharedZones, sharedZoneUpdate, zoneProtection
    // CloudKit: sharing
    case noRootToShare, shareWithoutRoot, shareLinkTooEarly, participantsConflict
    // CloudKit: subscriptions
    case duplicateSubscription, subscriptionNotFound, collapseIDRefused, subscriptionInProduction
    // CloudKit: accounts and credentials
    case noAuthMethod, signInRequired, privateDenied, notPermitted, badBundle, badContainer, accountMissing
    case deniedBySettings, badAuthToken, termsToAccept, noSigningCertificate, userNotFound, noAccountForCoreData
    case mirroringNotInitialized
    // CloudKit: the server and the network
    case internalServerError, httpStatus, operationThrottled, databaseThrottled, daemonUnreachable, itemsFailed
    // Skylight: the shape of requests
    case wrongFieldValue, wrongName, wrongPath, wrongMethod, nothingHere, tooManyParts, limitReached
    case sameRecordInBatch, recordOverLimit, typeOfRecordChanged, systemField, unknownSystemField
    case newFieldWithoutType, notEncryptable, tooManyBytes, wrongMarker, wrongSort, comparatorOfType
    case indexBeingBuilt, indexPending
    // Skylight: records, references and zones
    case referenceAcrossZones, referenceLimit, referenceTargetMissing, hasChildren, zoneRules, zoneWithoutOwner
    case zoneLeaving, changeNotKept, stateNotKnown, mirrorRules, containerState
    // Skylight: sharing
    case alreadyShared, shareRules, unknownShare, shareBusy
    // Skylight: assets
    case assetReceipt, assetSource, assetAddress, assetTooLarge, uploadIncomplete, assetDamaged, multipartBody
    case fileConditions, assetUpkeep
    // Skylight: schema and roles
    case schemaEdit, schemaPlan, productionIsFixed, rolesAreTheOwners
    // Skylight: subscriptions and notifications
    case subscriptionRules, notificationToken, notificationGone
    // Skylight: key-value stores
    case keyValueRules
    // Skylight: users, keys and sign-in
    case administratorOnly, administratorPassword, triesLimited, userLimits, userRules, peopleNeedAUser
    case signInEnded, signInState, credentialUnknown, tokenMade, keyRevoked, twoCredentials, publicKeyText, tokenOrigins
    case savedThings, clientHeader, rehearsalRules, rehearsed
    // Skylight: the server
    case busy, overThrottle, closing, openFiles, diskFull, databaseAway, storeProblem, serverFailed
    case notPossibleHere, trafficGone, confirmationMissing
    // Skylight: HTTP
    case hostRefused, originRefused, malformedRequest, bodyRefused
    // Skylight: containers in iCloud, and other servers
    case connectionState, cloudKitAnswer, cloudKitAway, otherServer, pagesInACircle
}

extension KnownReason {
    /// How certain it is that a text is sent, and for the given cause.
    public enum Evidence: String, Sendable, Hashable, CaseIterable {
        /// Only Skylight sends the text, so the cause is certain.
        case skylight
        /// iCloud's servers sent the text when the cause was produced in a test.
        case measured
        /// Apple documents the text, or CloudKit.framework contains it.
        case apple
        /// Many public logs contain the text, and those who fixed the problem agree on the cause.
        case reported
        /// Few public logs contain the text. The cause is the most likely one.
        case likely

        /// A short title for display.
        public var title: String {
            switch self {
            case .skylight: "Skylight’s own"
            case .measured: "measured on iCloud"
            case .apple: "Apple’s documentation or framework"
            case .reported: "many public reports"
            case .likely: "few reports; the cause is likely, not certain"
            }
        }
    }

    /// One row of the catalogue.
    struct Row: Sendable {
        let codes: [ServerErrorCode]
        let framework: Int?
        let texts: [ReasonText]
        let evidence: Evidence
        let cause: String
        let remedy: String

        /// - Parameters:
        ///   - codes: the codes with which the text is sent. The first one is the code of errors created from the row.
        ///   - framework: the number of the `CKError`.
        ///   - texts: the texts, with parameters in braces. The first one is the text of errors created from the row.
        init(
            _ codes: [ServerErrorCode], framework: Int? = nil, _ texts: String..., evidence: Evidence = .skylight,
            cause: String, remedy: String
        ) {
            self.codes = codes
            self.framework = framework
            self.texts = texts.map { ReasonText($0) }
            self.evidence = evidence
            self.cause = cause
            self.remedy = remedy
        }
    }

    private static let rows = Dictionary(uniqueKeysWithValues: allCases.map { ($0, $0.row) })

    /// All texts. Those with the most literal bytes come first, because they are more specific than others that match
    /// as well.
    private static let texts: [(reason: KnownReason, text: ReasonText)] = allCases.flatMap { reason in
        (rows[reason]?.texts ?? []).map { (reason, $0) }
    }.sorted { $0.text.literalLength > $1.text.literalLength }

    private var known: Row { Self.rows[self] ?? row }

    /// The codes with which web services send the text; empty if only CloudKit.framework uses it.
    public var codes: [ServerErrorCode] { known.codes }
    /// The number of the `CKError`; `nil` if the text does not come from CloudKit.framework, or occurs with several
    /// numbers.
    public var framework: Int? { known.framework }
    /// The texts, with parameters in braces: `Field '{field}' is not marked queryable`.
    public var texts: [String] { known.texts.map(\.text) }
    public var evidence: Evidence { known.evidence }
    /// The cause, in one or several sentences.
    public var cause: String { known.cause }
    /// The remedy, in one or several sentences.
    public var remedy: String { known.remedy }

    /// The catalogue row for an error.
    /// - Returns: `nil` if the catalogue does not contain this text with this code.
    public init?(_ code: ServerErrorCode, _ reason: String) {
        let bytes = Array(reason.utf8)
        guard
            let match = Self.texts.first(where: { $0.reason.codes.contains(code) && $0.text.ranges(in: bytes) != nil })
        else { return nil }
        self = match.reason
    }

    /// The catalogue row for a text that another program quotes, whatever surrounds it. Ignores case and the kind of
    /// quotation marks.
    /// - Returns: `nil` if the text contains no text of the catalogue.
    public init?(quotedIn text: String) {
        let bytes = ReasonText.folded(text)
        guard let match = Self.texts.first(where: { $0.text.isQuoted(in: bytes) }) else { return nil }
        self = match.reason
    }

    /// The values of the parameters in a text, by name.
    /// - Returns: `nil` if the text does not match this row.
    public func values(in reason: String) -> [String: String]? {
        let bytes = Array(reason.utf8)
        for text in known.texts {
            guard let ranges = text.ranges(in: bytes) else { continue }
            return Dictionary(
                zip(text.parameters, ranges.map { String(decoding: bytes[$0], as: UTF8.self) }),
                uniquingKeysWith: { first, _ in first })
        }
        return nil
    }

    /// The row's text with the given values. Parameters without a value are removed, and surplus values are ignored.
    fileprivate func text(with values: [String]) -> String { known.texts.first?.filled(with: values) ?? "" }
}

// MARK: Errors of the catalogue

extension RecordError {
    /// An error with a text of the catalogue.
    /// - Parameter values: values of the text's parameters, in order.
    public init(known: KnownReason, _ values: any CustomStringConvertible..., retryAfter: Int? = nil) {
        self.init(
            known.codes.first ?? .internalError, known.text(with: values.map(\.description)), retryAfter: retryAfter)
    }

    /// The error's row in the catalogue; `nil` for a text that the catalogue does not contain, such as a new one of
    /// iCloud.
    public var known: KnownReason? { KnownReason(code, reason) }

    /// The field that the error names; `nil` if it names none.
    public var field: Name? { known?.values(in: reason)?["field"].map { Name($0) } }
}

// MARK: Texts

/// A text with parameters in braces. Other braces are part of the text.
struct ReasonText: Sendable {
    let text: String
    /// The names of the parameters, in order.
    let parameters: [String]
    /// The literal texts between the parameters, one more than there are parameters.
    private let pieces: [[UInt8]]
    private let foldedPieces: [[UInt8]]
    /// Number of bytes without the parameters.
    let literalLength: Int

    /// Minimum length of a text to search for. Shorter texts occur in other sentences too.
    private static let shortestQuotation = 12

    init(_ text: String) {
        self.text = text
        var (parameters, pieces, rest) = ([String](), [[UInt8]](), Array(text.utf8)[...])
        var piece: [UInt8] = []
        while let byte = rest.first {
            let name = rest.dropFirst().prefix { $0 >= UInt8(ascii: "a") && $0 <= UInt8(ascii: "z") }
            if byte == UInt8(ascii: "{"), !name.isEmpty, rest.dropFirst(name.count + 1).first == UInt8(ascii: "}") {
                parameters.append(String(decoding: name, as: UTF8.self))
                pieces.append(piece)
                piece = []
                rest = rest.dropFirst(name.count + 2)
            } else {
                piece.append(byte)
                rest = rest.dropFirst()
            }
        }
        self.parameters = parameters
        self.pieces = pieces + [piece]
        foldedPieces = self.pieces.map { Self.folded(String(decoding: $0, as: UTF8.self)) }
        literalLength = self.pieces.reduce(0) { $0 + $1.count }
    }

    func filled(with values: [String]) -> String {
        var text = pieces[0]
        for (index, piece) in pieces.dropFirst().enumerated() {
            if index < values.count { text += values[index].utf8 }
            text += piece
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The positions of the parameters; `nil` if the text does not match.
    func ranges(in text: [UInt8]) -> [Range<Int>]? {
        guard text.starts(with: pieces[0]) else { return nil }
        guard let last = pieces.dropFirst().last else { return text.count == pieces[0].count ? [] : nil }
        var (ranges, index) = ([Range<Int>](), pieces[0].count)
        for piece in pieces.dropFirst().dropLast() {
            guard let start = Self.place(of: piece, in: text, from: index) else { return nil }
            ranges.append(index..<start)
            index = start + piece.count
        }
        let end = text.count - last.count
        guard end >= index, text[end...].elementsEqual(last) else { return nil }
        return ranges + [index..<end]
    }

    func isQuoted(in folded: [UInt8]) -> Bool {
        if literalLength < Self.shortestQuotation { return false }
        var index = 0
        for piece in foldedPieces {
            guard let start = Self.place(of: piece, in: folded, from: index) else { return false }
            index = start + piece.count
        }
        return true
    }

    /// The text in lowercase with straight quotation marks.
    static func folded(_ text: String) -> [UInt8] {
        text.utf8.contains { $0 > 0x7F }
            ? Array(
                text.replacing("’", with: "'").replacing("‘", with: "'").replacing("“", with: "\"").replacing(
                    "”", with: "\""
                ).utf8
            ).map(lowered)
            : text.utf8.map(lowered)
    }

    private static func lowered(_ byte: UInt8) -> UInt8 {
        byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }

    private static func place(of piece: [UInt8], in text: [UInt8], from start: Int) -> Int? {
        guard let first = piece.first else { return start }
        let last = text.count - piece.count
        var index = start
        while index <= last, let place = text[index...last].firstIndex(of: first) {
            if text[place..<(place + piece.count)].elementsEqual(piece) { return place }
            index = place + 1
        }
        return nil
    }
}
