internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The form for the type and the zone of a new record.
struct EditStart: Page {
    static let template = "record_new"
    static let tab = Tab.query

    let title = "New record"
    let action: String
    let hidden: [Frame.Hidden]
    let types: [Choice]
    /// With a question first, unless the zone is known.
    let zones: [Choice]
    /// True if the form accepts a new type.
    let canMakeTypes: Bool
    let nameLimit = String(RecordType.nameLimit)
    let milliseconds: String

    init(_ visit: Visit) {
        let place = visit.place
        action = "\(place.path)/record/new"
        hidden = place.userParameters.map { Frame.Hidden(name: $0.name, value: $0.value) }
        let chosen = visit.fields.text("type").map { Name($0) }
        types = visit.types.map { Choice($0.name.string, $0.name.string, isSelected: $0.name == chosen) }
        zones = visit.chosenZoneChoices
        canMakeTypes = place.address.environment == .development && visit.schema != nil
        milliseconds = visit.stopwatch.elapsed.millisecondsText
    }
}
