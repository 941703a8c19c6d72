public import Records

/// The items of a `records/modify` that `partial-failure` refuses: every n-th one, all with the same code.
public struct FailingItems: Sendable, Hashable, CustomStringConvertible {
    /// The codes that one item can fail with.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        case conflict = "CONFLICT"
        case accessDenied = "ACCESS_DENIED"
        case notFound = "NOT_FOUND"
        case quotaExceeded = "QUOTA_EXCEEDED"
        case validatingReferenceError = "VALIDATING_REFERENCE_ERROR"
        case internalError = "INTERNAL_ERROR"
        case throttled = "THROTTLED"
        case tryAgainLater = "TRY_AGAIN_LATER"
        case zoneBusy = "ZONE_BUSY"

        /// The error of an item, in the service's own words where it has some.
        var error: RecordError {
            switch self {
            case .conflict: RecordError(known: .staleTag)
            case .accessDenied: RecordError(known: .notPermitted, "WRITE")
            case .notFound: RecordError(known: .recordNotFound)
            case .quotaExceeded: RecordError(known: .quotaExceeded)
            case .validatingReferenceError: RecordError(known: .stillReferenced)
            case .internalError: RecordError(.internalError, "The record could not be saved; this is a rehearsal")
            case .throttled: .rehearsedThrottling
            case .tryAgainLater: .rehearsedUnavailability
            case .zoneBusy: .rehearsedBusyZone
            }
        }
    }

    /// Every second item, with CONFLICT.
    public static let standard = FailingItems(of: 2, with: .conflict)
    /// The values of ``every``. A request has at most 200 items.
    public static let everyRange = 1...200

    /// 3 for the items 3, 6, 9 and so on of a request. One with fewer items is not affected.
    public let every: Int
    public let code: Code

    /// - Parameters:
    ///   - every: `nil` for 2.
    ///   - code: a `serverErrorCode`; `nil` for CONFLICT.
    /// - Throws: `RecordError` BAD_REQUEST for a number out of range, or a code that an item can't fail with.
    public init(every: Int?, code: String?) throws {
        let every = every ?? Self.standard.every
        guard Self.everyRange.contains(every) else {
            throw RecordError(
                .badRequest, "'every' is a whole number from \(Self.everyRange.lowerBound) to \(Self.everyRange.upperBound): 3 fails every third item")
        }
        guard let known = code.map({ Code(rawValue: $0) }) ?? Self.standard.code else {
            let codes = Code.allCases.map(\.rawValue).joined(separator: ", ")
            throw RecordError(.badRequest, "An item can't fail with '\(code ?? "")'; choose one of \(codes)")
        }
        self.init(of: every, with: known)
    }

    private init(of every: Int, with code: Code) {
        self.every = every
        self.code = code
    }

    /// Text for display, such as `1 of 3 items with CONFLICT`.
    public var description: String { "\(every == 1 ? "all" : "1 of \(every)") items with \(code.rawValue)" }

    /// The indices of the items that fail.
    func indices(of count: Int) -> [Int] { Array(stride(from: every - 1, to: count, by: every)) }
}

extension RecordError {
    public static let rehearsedThrottling = RecordError(
        .throttled, "Request was throttled; this is a rehearsal", retryAfter: InjectedFault.retryAfter)
    public static let rehearsedUnavailability = RecordError(.tryAgainLater, "The service is not available; this is a rehearsal")
    static let rehearsedBusyZone = RecordError(.zoneBusy, "Zone is busy; this is a rehearsal", retryAfter: InjectedFault.retryAfter)
}
