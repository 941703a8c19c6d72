internal import Records

/// A fault to inject and the number of times: `pages-of-one`, `throttled=3`.
public struct FaultSetting: Sendable, Hashable, CustomStringConvertible {
    /// Maximum number of requests that one fault can fail.
    public static let countLimit = 1_000_000

    public let fault: InjectedFault
    /// Number of requests to fail; `nil` for faults of another kind.
    public let count: Int?

    /// - Parameter count: number of requests to fail; `nil` means one, for faults that fail requests.
    /// - Throws: `RecordError` BAD_REQUEST if the count is out of range or the fault takes none.
    public init(_ fault: InjectedFault, count: Int? = nil) throws {
        guard fault.kind == .failure else {
            if count != nil {
                throw RecordError(.badRequest, "'\(fault.rawValue)' takes no count: only rehearsals that fail requests have one, such as throttled=3")
            }
            self.init(of: fault, times: nil)
            return
        }
        guard (1...Self.countLimit).contains(count ?? 1) else {
            throw RecordError(.badRequest, "The count of '\(fault.rawValue)' is a whole number from 1 to \(Self.countLimit)")
        }
        self.init(of: fault, times: count ?? 1)
    }

    /// Parses `pages-of-one` or `throttled=3`.
    /// - Throws: `RecordError` BAD_REQUEST for an unknown name or an invalid count.
    public init(_ text: some StringProtocol) throws {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = parts.first.map { String($0) } ?? ""
        guard let fault = InjectedFault(rawValue: name) else {
            let known = InjectedFault.allCases.map(\.rawValue).joined(separator: ", ")
            throw RecordError(.badRequest, "There is no rehearsal '\(name)'; choose one of \(known)")
        }
        guard parts.count == 2 else {
            try self.init(fault)
            return
        }
        guard let count = Int(parts[1]) else {
            throw RecordError(.badRequest, "The count of '\(name)' must be a whole number, as in throttled=3, not '\(parts[1])'")
        }
        try self.init(fault, count: count)
    }

    private init(of fault: InjectedFault, times: Int?) {
        self.fault = fault
        count = times
    }

    public var description: String { count.map { "\(fault.rawValue)=\($0)" } ?? fault.rawValue }
}
