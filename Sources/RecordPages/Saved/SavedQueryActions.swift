internal import Accounts
internal import Console
internal import Records
internal import Text

/// Saves queries under names, and removes them.
enum SavedQueryActions {
    static func save(_ visit: Visit) async throws -> String {
        let name = visit.fields["name"]?.trimmingSpaces ?? ""
        if name.isEmpty { throw RecordError(.badRequest, "Enter a name for the query") }
        // Parses and serializes the query, so that the file contains no other input.
        let form = QueryForm(FormFields(encoded: (visit.fields["question"] ?? "").utf8)).changed { _ in }
        if form.type == nil { throw RecordError(.badRequest, "The query has no record type; choose one") }
        let zone = visit.place.zoneParameters.first?.value
        try await visit.accounts.save(
            SavedQuery(
                name: name, container: visit.place.address.container, scope: visit.place.address.scope, zone: zone,
                question: String(FormFields.url("", form.parameters).dropFirst())))
        return back(visit, .querySaved)
    }

    static func remove(_ visit: Visit) async throws -> String {
        try await visit.accounts.removeSavedQuery(visit.fields["name"] ?? "", of: visit.place.address.container)
        return back(visit, .queryRemoved)
    }

    private static func back(_ visit: Visit, _ notice: Notice) -> String {
        let page = Place.local(visit.fields["back"]) ?? visit.place.link("query")
        return "\(page)\(page.utf8.contains(UInt8(ascii: "?")) ? "&" : "?")\(notice.parameter.name)=\(notice.parameter.value)"
    }
}
