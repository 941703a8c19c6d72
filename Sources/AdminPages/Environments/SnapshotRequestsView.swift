package import Console
internal import DataTransfer
internal import Foundation
internal import Records

/// The requests that a snapshot has from the log of the server that saved it: what led to a failing case.
package struct SnapshotRequestsView: Page {
    package static let template = "snapshot_requests"
    package static let tab = Tab.snapshots

    struct Row: ViewModel {
        let when: ValueView
        let method: String
        let operation: String
        let status: String
        let tone: String
        /// The error of the whole request, or of the first item that failed.
        let reason: String?
        let client: String
        let duration: String
        let bodies: [Body]
    }

    /// A body, for the template `request_body`.
    struct Body: ViewModel {
        let label: String
        let text: String?
        let notes: [String]
    }

    package let title: String
    let rows: [Row]
    /// A sentence about requests that are not shown.
    let remark: String?
    let back: String
    let milliseconds: String

    /// Snapshots come from other people too, so their files may be of any size.
    private static let bytesLimit = 32 << 20

    package static func load(_ visit: Visit) async throws -> SnapshotRequestsView {
        let snapshot = try await RecordError.ofSnapshots {
            try visit.shelf.folder.snapshot(named: visit.fields["name"] ?? "")
        }
        guard let url = snapshot.requestsURL, let file = try? FileHandle(forReadingFrom: url) else {
            throw RecordError(.notFound, "The snapshot ‘\(snapshot.name)’ has no requests")
        }
        defer { try? file.close() }
        let bytes = (try? file.read(upToCount: bytesLimit)) ?? Data()
        let lines = bytes.split(separator: UInt8(ascii: "\n"))
        let rows = lines.prefix(SnapshotActions.requestLimit).compactMap { line -> Row? in
            guard case .object(let members)? = try? JSONReader.value(of: Array(line)) else { return nil }
            return Row(members)
        }
        let left = max(snapshot.requests ?? 0, lines.count) - rows.count
        return SnapshotRequestsView(
            title: "Requests of ‘\(snapshot.name)’", rows: rows,
            remark: left > 0 ? "\(Digits.count(left, "request")) can’t be shown." : nil,
            back: visit.place.link(Tab.snapshots.rawValue), milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }
}

extension SnapshotRequestsView.Row {
    /// Dates of calendars end with the year 9999.
    private static let times: ClosedRange<Int64> = 0...253_402_300_799_999

    fileprivate init(_ request: JSONObject) {
        when =
            if case .integer(let time)? = request["started"], Self.times.contains(time) {
                ValueView(.time(Timestamp(milliseconds: time)))
            } else { .missing }
        method = request["method"]?.text ?? ""
        operation = request["operation"]?.text ?? request["target"]?.text ?? ""
        let status: Int64 = if case .integer(let status)? = request["status"] { status } else { 0 }
        self.status = status == 0 ? "no answer" : String(status)
        let items: [JSONValue] = if case .array(let items)? = request["itemErrors"] { items } else { [] }
        let error: JSONObject? = if case .object(let error)? = request["error"] ?? items.first { error } else { nil }
        tone = status == 0 || status >= 400 ? "bad" : items.isEmpty ? "good" : "warn"
        reason = error.map {
            [$0["serverErrorCode"]?.text, $0["reason"]?.text].compactMap(\.self).joined(separator: ", ")
        }
        client = if case .object(let client)? = request["client"] { client["id"]?.text ?? "unnamed" } else { "unnamed" }
        duration =
            switch request["milliseconds"] {
            case .integer(let milliseconds): "\(milliseconds) ms"
            case .double(let milliseconds): "\(Digits.fixed(milliseconds, 2)) ms"
            default: ""
            }
        bodies = [
            SnapshotRequestsView.Body("Request", request["requestBody"]),
            SnapshotRequestsView.Body("Response", request["responseBody"]),
        ].compactMap(\.self)
    }
}

extension SnapshotRequestsView.Body {
    /// - Returns: `nil` for a request without one, and for one that the log did not keep.
    fileprivate init?(_ label: String, _ body: JSONValue?) {
        guard case .object(let body)? = body, let text = body["text"]?.text, !text.isEmpty else { return nil }
        self.label = label
        let isCut = body["cut"] == .bool(true)
        self.text = (try? JSONReader.value(of: Array(text.utf8))).map { RecordJSON.laidOut($0) } ?? text
        notes = isCut ? ["The log kept only the beginning."] : []
    }
}

extension JSONValue {
    fileprivate var text: String? { if case .string(let text) = self { text } else { nil } }
}
