package import Console
package import Records

/// Why something reached a client or did not. ``Delivery``, ``SharingReason`` and ``NotificationReason`` decide it,
/// each by its own rules, and say it in this form.
struct Explanation: ViewModel {
    /// `yes`, `in part`, `not notified`.
    let verdict: String
    /// `created`, `recreated` or `deleted`, as in the colours of the feed.
    let tone: String
    /// A sentence. If a request shows it, its link ends the sentence.
    let text: String
    var request: Frame.Link?
    /// What the client or its user can do.
    var advice: String?
    /// Where to do it, or more about it.
    var next: Frame.Link?
    /// One line for each of several things that the sentence is about.
    var details: [String] = []

    /// `a, b and 3 more`
    static func list(_ names: [String], separator: String = ", ") -> String {
        let shown = names.prefix(5).joined(separator: separator)
        return names.count > 5 ? "\(shown) and \(names.count - 5) more" : shown
    }

    static func time(_ moment: Timestamp) -> String { "\(moment.utcText.prefix(19)) UTC" }
}

/// A question about a record, with the answer for each client.
struct ExplanationTable: ViewModel {
    struct Row: ViewModel {
        /// `nil` for a user without a client.
        let client: Frame.Link?
        let user: String
        let verdict: String
        let tone: String
        let explanations: [Explanation]

        /// - Returns: `nil` if there is no explanation.
        init?(client: Frame.Link?, user: String, _ explanations: [Explanation]) {
            guard let first = explanations.first else { return nil }
            (self.client, self.user, self.explanations) = (client, user, explanations)
            (verdict, tone) = (first.verdict, first.tone)
        }
    }

    /// How many clients have the record, and some that lack it.
    struct Tally: ViewModel {
        let count: String
        let text: String
        let lacking: [Row]

        /// - Returns: `nil` without clients.
        init?(_ rows: [Row]) {
            let clients = rows.filter { $0.client != nil }
            if clients.isEmpty { return nil }
            let lacking = clients.filter { $0.verdict != "yes" }
            let having = clients.count - lacking.count
            count = "\(Digits.grouped(having)) of \(Digits.grouped(clients.count))"
            text = "\(count) \(clients.count == 1 ? "client has" : "clients have") this version"
            self.lacking = Array(lacking.prefix(Self.limit))
        }

        private static let limit = 3
    }

    let id: String
    /// The name of its tab on the page of the record.
    let tab: String
    let title: String
    /// The description of the table, and the heading of its verdicts.
    let label: String
    let asks: String
    /// In place of a client for a user without one.
    let nobody: String
    let lead: String
    let rows: [Row]
    /// `nil` if not all clients are known.
    var tally: Tally?
    /// The clients that the question does not concern.
    var others: String?
}

/// The clients that got a record, and the clients that were notified of it.
package struct ClientsPanel: ViewModel {
    let tables: [ExplanationTable]
    /// The tally of the clients that got it.
    let tally: ExplanationTable.Tally?

    /// - Parameter record: `nil` if the acting user does not see it.
    /// - Returns: `nil` if nothing is known.
    package static func load(_ recordID: RecordID, _ record: StoredRecord?, _ visit: Visit) async throws
        -> ClientsPanel?
    {
        let tables = [
            try await DeliveryPanel.load(recordID, record, visit), try await NotificationPanel.load(recordID, visit),
        ].compactMap(\.self)
        return tables.isEmpty ? nil : ClientsPanel(tables: tables, tally: tables.lazy.compactMap(\.tally).first)
    }
}
