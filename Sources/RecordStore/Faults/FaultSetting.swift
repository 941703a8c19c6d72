public import Records

/// A fault to inject, the number of times, and the items that fail: `pages-of-one`, `throttled=3`,
/// `partial-failure=2;every=3;code=CONFLICT`.
public struct FaultSetting: Sendable, Hashable, CustomStringConvertible {
    /// Maximum number of requests that one fault can fail.
    public static let countLimit = 1_000_000

    public let fault: InjectedFault
    /// Number of requests to fail; `nil` for faults of another kind.
    public let count: Int?
    /// The items that fail, for `partial-failure`; `nil` for other faults.
    public let items: FailingItems?

    /// - Parameters:
    ///   - count: number of requests to fail; `nil` means one, for faults that fail requests.
    ///   - every: for `partial-failure`, see ``FailingItems``; `nil` means 2.
    ///   - code: for `partial-failure`, a `serverErrorCode`; `nil` means CONFLICT.
    /// - Throws: `RecordError` BAD_REQUEST if a value is out of range, or the fault takes no such value.
    public init(_ fault: InjectedFault, count: Int? = nil, every: Int? = nil, code: String? = nil) throws {
        if every != nil || code != nil, fault != .partialFailure {
            throw RecordError(
                .badRequest,
                "'\(fault.rawValue)' takes no 'every' and no 'code': only '\(InjectedFault.partialFailure.rawValue)' has them"
            )
        }
        self.fault = fault
        items = fault == .partialFailure ? try FailingItems(every: every, code: code) : nil
        guard fault.kind == .failure else {
            if count != nil {
                throw RecordError(
                    .badRequest,
                    "'\(fault.rawValue)' takes no count: only rehearsals that fail requests have one, such as throttled=3"
                )
            }
            self.count = nil
            return
        }
        guard (1...Self.countLimit).contains(count ?? 1) else {
            throw RecordError(
                .badRequest, "The count of '\(fault.rawValue)' is a whole number from 1 to \(Self.countLimit)")
        }
        self.count = count ?? 1
    }

    /// Parses `pages-of-one`, `throttled=3` or `partial-failure;every=3;code=CONFLICT`.
    /// - Throws: `RecordError` BAD_REQUEST for an unknown name or an invalid value.
    public init(_ text: some StringProtocol) throws {
        let parts = String(text).split(separator: ";" as Character, omittingEmptySubsequences: false).map { part in
            let pair = part.split(separator: "=" as Character, maxSplits: 1, omittingEmptySubsequences: false).map(
                String.init)
            return (name: pair.first ?? "", value: pair.count == 2 ? pair[1] : nil)
        }
        let name = parts.first?.name ?? ""
        guard let fault = InjectedFault(rawValue: name) else {
            let known = InjectedFault.allCases.map(\.rawValue).joined(separator: ", ")
            throw RecordError(.badRequest, "There is no rehearsal '\(name)'; choose one of \(known)")
        }
        func number(_ text: String, _ what: String, _ example: String) throws -> Int {
            guard let number = Int(text) else {
                throw RecordError(
                    .badRequest, "The \(what) of '\(name)' must be a whole number, as in \(example), not '\(text)'")
            }
            return number
        }
        let count = try parts.first?.value.map { try number($0, "count", "throttled=3") }
        var every: Int?
        var code: String?
        for part in parts.dropFirst() {
            switch (part.name, part.value) {
            case ("every", let value?): every = try number(value, "every", "partial-failure;every=3")
            case ("code", let value?): code = value
            default:
                throw RecordError(
                    .badRequest,
                    "'\(name)' takes no '\(part.name)': write it as in partial-failure;every=3;code=CONFLICT")
            }
        }
        try self.init(fault, count: count, every: every, code: code)
    }

    public var description: String {
        let name = count.map { "\(fault.rawValue)=\($0)" } ?? fault.rawValue
        return items.map { "\(name);every=\($0.every);code=\($0.code.rawValue)" } ?? name
    }
}

// MARK: - Failing items

/// The items of a `records/modify` request that `partial-failure` makes fail: every n-th one, all with the same code.
public struct FailingItems: Sendable, Hashable, CustomStringConvertible {
    /// The codes with which one item can fail.
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

        /// The error of an item, with CloudKit's text where one is known.
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
    /// The permitted values of ``every``: the number of items that a request can have.
    public static let everyRange = 1...BatchModifier.operationLimit

    /// The interval between failing items: 3 means items 3, 6, 9 and so on of a request. A request with fewer items is
    /// not affected.
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
                .badRequest,
                "'every' is a whole number from \(Self.everyRange.lowerBound) to \(Self.everyRange.upperBound): 3 fails every third item"
            )
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
    public static let rehearsedUnavailability = RecordError(
        .tryAgainLater, "The service is not available; this is a rehearsal")
    static let rehearsedBusyZone = RecordError(
        .zoneBusy, "Zone is busy; this is a rehearsal", retryAfter: InjectedFault.retryAfter)
}
