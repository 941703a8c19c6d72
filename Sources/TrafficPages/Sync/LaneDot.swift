internal import Console
internal import JSON
internal import Records
internal import Traffic

/// The mark of a request on the line of a client's requests.
struct LaneDot: ViewModel {
    /// The kinds differ in shape, not only in colour.
    enum Kind: String, CaseIterable {
        case failed, saved, pulled, other

        /// The outline around the point 0, 0.
        var shape: String {
            switch self {
            case .failed: "M0-5.5 5.5 4.5h-11z"
            case .saved: "M-4-4h8v8h-8z"
            case .pulled: "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z"
            case .other: "M0-4 4 0 0 4-4 0z"
            }
        }

        var words: String {
            switch self {
            case .failed: "a request that failed"
            case .saved: "a save"
            case .pulled: "a fetch of changes"
            case .other: "another request"
            }
        }
    }

    /// The meaning of a shape.
    struct Legend: ViewModel {
        let kind: String
        let shape: String
        let text: String

        static let all = Kind.allCases.map { Legend(kind: $0.rawValue, shape: $0.shape, text: $0.words) }
    }

    let x: String
    let kind: String
    let shape: String
    let tip: String
    let href: String

    /// The width of the part of the line in which one mark stands for all requests of its kind, in percent.
    private static let slot = 0.8

    /// The marks, the oldest request first, so that a later mark covers an earlier one.
    /// - Parameter requests: the newest first.
    static func all(_ requests: [ServedRequest], at now: Timestamp, _ visit: Visit) -> [LaneDot] {
        struct Slot: Hashable {
            let number: Int
            let kind: Kind
        }
        var latest: [(slot: Slot, request: ServedRequest, percent: Double)] = []
        var counts: [Slot: Int] = [:]
        for request in requests {
            guard let percent = AgeScale.percent(now.milliseconds - request.started.milliseconds) else { continue }
            let slot = Slot(number: Int((100 - percent) / slot), kind: Kind(request))
            if counts[slot] == nil { latest.append((slot, request, percent)) }
            counts[slot, default: 0] += 1
        }
        return latest.reversed().map { slot, request, percent in
            LaneDot(
                x: "\(Digits.fixed(percent, 2))%", kind: slot.kind.rawValue, shape: slot.kind.shape, tip: tip(request, others: (counts[slot] ?? 1) - 1),
                href: visit.place.link("requests", [("id", request.id)]))
        }
    }

    private static func tip(_ request: ServedRequest, others: Int) -> String {
        var parts = [request.operation]
        let changes = request.pulls.reduce(0) { $0 + $1.changes }
        if !request.pulls.isEmpty { parts.append(Digits.count(changes, "change")) } else if request.records > 0 { parts.append(Digits.count(request.records, "record")) }
        parts.append([request.statusWords, request.errorWords].compactMap(\.self).joined(separator: " "))
        parts.append("\(request.started.utcText.prefix(19)) UTC")
        if others > 0 { parts.append("and \(Digits.count(others, "similar request")) around it") }
        return parts.joined(separator: ", ")
    }

    func child(named name: String) -> Any? {
        switch name {
        case "x": x
        case "kind": kind
        case "shape": shape
        case "tip": tip
        case "href": href
        default: nil
        }
    }
}

extension LaneDot.Kind {
    fileprivate init(_ request: ServedRequest) {
        self = request.hasErrors ? .failed : request.operation.hasSuffix("/modify") ? .saved : request.pulls.isEmpty ? .other : .pulled
    }
}
