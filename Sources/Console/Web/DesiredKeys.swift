package import Records

/// The fields that a read returns, as the forms of Query, Fetch and Changes ask for them: a parameter `key` for each, or
/// `return=system` for none but those of the system.
package struct DesiredKeys: Sendable {
    /// The fields to return; empty for all.
    package var fields: [Name]
    package var isSystemOnly: Bool

    package init(_ form: FormFields) {
        fields = form.all("key").filter { !$0.isEmpty }.map { Name($0) }
        isSystemOnly = form["return"] == "system"
    }

    /// As requests have it: `nil` for all fields.
    package var names: [Name]? { isSystemOnly ? [] : fields.isEmpty ? nil : fields }

    package var set: Set<Name>? { names.map { Set($0) } }

    package var parameters: [(name: String, value: String)] {
        fields.map { ("key", $0.string) } + (isSystemOnly ? [("return", "system")] : [])
    }

    /// `all fields`, `system fields only`, or the names of some.
    package var text: String {
        if isSystemOnly { return "system fields only" }
        if fields.isEmpty { return "all fields" }
        let named = fields.prefix(3).map(\.string).joined(separator: ", ")
        return fields.count > 3 ? "\(named) and \(fields.count - 3) more" : named
    }

    /// Asks for all fields.
    package mutating func clear() {
        (fields, isSystemOnly) = ([], false)
    }
}

/// The menu in which these fields are chosen.
package struct DesiredKeysMenu: ViewModel {
    let text: String
    let fields: [Choice]
    let isSystemOnly: Bool

    /// - Parameter fields: those to choose from. Fields that the form asks for, too, are listed anyway.
    package init(_ keys: DesiredKeys, of fields: [Name]) {
        text = keys.text
        isSystemOnly = keys.isSystemOnly
        let known = Set(fields)
        self.fields = (fields + keys.fields.filter { !known.contains($0) }).map {
            Choice($0.string, $0.string, isSelected: keys.fields.contains($0))
        }
    }

    /// The menu of a read that may return records of any type.
    package init(_ keys: DesiredKeys, _ visit: Visit) {
        self.init(keys, of: Set(visit.types.flatMap { $0.fields.keys }).sorted())
    }
}
