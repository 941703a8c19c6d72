package import Console
internal import DataTransfer
internal import Foundation
internal import Records

/// The requests that a snapshot has from the log of the server that saved it: what led to a failing case.
package enum SnapshotRequestsView {
    /// Snapshots come from other people too, so their files may be of any size.
    private static let bytesLimit = 32 << 20
    /// Dates of calendars end with the year 9999.
    private static let times: ClosedRange<Int64> = 0...253_402_300_799_999

    package static func load(_ visit: Visit) async throws -> ComponentPage {
        let snapshot = try await RecordError.ofSnapshots {
            try visit.shelf.folder.snapshot(named: visit.fields["name"] ?? "")
        }
        guard let url = snapshot.requestsURL, let file = try? FileHandle(forReadingFrom: url) else {
            throw RecordError(.notFound, "The snapshot ‘\(snapshot.name)’ has no requests")
        }
        defer { try? file.close() }
        let bytes = (try? file.read(upToCount: bytesLimit)) ?? Data()
        let lines = bytes.split(separator: UInt8(ascii: "\n"))
        let rows = lines.prefix(SnapshotActions.requestLimit).compactMap { line -> Table.Row? in
            guard case .object(let members)? = try? JSONReader.value(of: Array(line)) else { return nil }
            return row(members)
        }
        let left = max(snapshot.requests ?? 0, lines.count) - rows.count
        return ComponentPage(
            .snapshots,
            PageHead(
                "Requests of ‘\(snapshot.name)’",
                crumb: .link("Snapshots", visit.place.link(Tab.snapshots.rawValue)),
                [
                    "The latest requests when the snapshot was saved, from the log of its server. The latest one is first."
                ]),
            [
                Table(
                    "Requests of the snapshot",
                    [
                        .column("operation", "name"), "started", "method", .column("status", "wide"), "client",
                        .number("duration"), .column("bodies", "wide both"),
                    ], rows, more: left > 0 ? "\(Digits.count(left, "request")) can’t be shown." : nil)
            ], foot: PageFooter())
    }

    private static func row(_ request: JSONObject) -> Table.Row {
        let started =
            if case .integer(let time)? = request["started"], times.contains(time) {
                ValueView(.time(Timestamp(milliseconds: time)))
            } else { ValueView.missing }
        let status: Int64 = if case .integer(let status)? = request["status"] { status } else { 0 }
        let items: [JSONValue] = if case .array(let items)? = request["itemErrors"] { items } else { [] }
        // The error of the whole request, or of the first item that failed.
        let error: JSONObject? = if case .object(let error)? = request["error"] ?? items.first { error } else { nil }
        let tone = status == 0 || status >= 400 ? "bad" : items.isEmpty ? "good" : "warn"
        let reason = error.map {
            " " + [$0["serverErrorCode"]?.text, $0["reason"]?.text].compactMap(\.self).joined(separator: ", ")
        }
        let client =
            if case .object(let client)? = request["client"] { client["id"]?.text ?? "unnamed" } else { "unnamed" }
        let duration =
            switch request["milliseconds"] {
            case .integer(let milliseconds): "\(milliseconds) ms"
            case .double(let milliseconds): "\(Digits.fixed(milliseconds, 2)) ms"
            default: ""
            }
        let bodies = [body("Request", request["requestBody"]), body("Response", request["responseBody"])].compactMap {
            $0
        }
        let operation = Inline(request["operation"]?.text ?? request["target"]?.text ?? "")
        return Table.Row([
            request["passedOn"] == .bool(true)
                ? "\(operation) \(.badge("iCloud", hint: "passed on to iCloud"))" : operation, Inline(started),
            Inline(request["method"]?.text ?? ""),
            "\(Inline(status == 0 ? "no answer" : String(status)).styled(tone))\(reason ?? "")", Inline(client),
            Inline(duration), bodies.isEmpty ? .faint("not kept") : bodies.reduce("") { $0 + .part($1) },
        ])
    }

    /// - Returns: `nil` for a request without a body, and for one that the log did not keep.
    private static func body(_ label: String, _ body: JSONValue?) -> Fold? {
        guard case .object(let body)? = body, let text = body["text"]?.text, !text.isEmpty else { return nil }
        let shown = (try? JSONReader.value(of: Array(text.utf8))).map { RecordJSON.laidOut($0) } ?? text
        return Fold(
            label, isOpen: false,
            (body["cut"] == .bool(true) ? [Paragraph.faint("The log kept only the beginning.")] : []) + [
                CodeBlock(label, Inline(shown))
            ])
    }
}

extension JSONValue {
    fileprivate var text: String? { if case .string(let text) = self { text } else { nil } }
}
