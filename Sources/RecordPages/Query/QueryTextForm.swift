internal import Console
internal import Records

/// The query as text, beside the form. A submitted text replaces the rows of the form. Each request sends either the
/// text or the rows.
struct QueryTextForm: ViewModel {
    struct Problem: ViewModel {
        /// The position of the error, counted from 1.
        let position: String
        let reason: String
        let before: String
        let at: String
        let after: String
    }

    /// The name of the text field.
    static let fieldName = "where"

    let text: String
    let placeholder: String
    /// The current rows, which stay if the text is invalid.
    let kept: [Frame.Hidden]
    let problem: Problem?

    init(_ form: QueryForm, type: RecordType, visit: Visit) {
        let parameters = visit.place.parameters + visit.place.pointParameters + form.changed { _ in }.parameters
        kept = parameters.map { Frame.Hidden(name: $0.name, value: $0.value) }
        placeholder = Self.example(of: type)
        guard let typed = visit.fields[Self.fieldName] else {
            text = QueryText.text(of: form, type: type)
            problem = nil
            return
        }
        text = typed
        do {
            _ = try QueryTextParser.rows(of: typed, type: type)
            problem = nil
        } catch {
            problem = Problem(error, in: typed)
        }
    }

    private static func example(of type: RecordType) -> String {
        let fields = QueryField.all(of: type).filter { !$0.isSystem }
        let compared =
            fields.first { $0.canFilter && $0.definition.type.valueType == .string && !$0.definition.type.isList }?.name
            ?? "title"
        let sorted = fields.first { $0.canSort && $0.definition.type == .timestamp }?.name ?? "modifiedTimestamp"
        return "\(compared) begins with a and \(sorted) > 2026-01-01 sort by \(sorted) descending"
    }
}

extension QueryTextForm.Problem {
    fileprivate init(_ error: QueryTextError, in text: String) {
        let scalars = Array(text.unicodeScalars)
        func slice(_ range: Range<Int>) -> String {
            var text = ""
            text.unicodeScalars.append(contentsOf: scalars[range.clamped(to: 0..<scalars.count)])
            return text
        }
        // Marks the whole word with the error, or nothing at the end of the text.
        let end = scalars[error.offset...].firstIndex { $0.properties.isWhitespace } ?? scalars.count
        position = String(error.offset + 1)
        reason = error.reason
        before = slice(0..<error.offset)
        at = error.offset < scalars.count ? slice(error.offset..<end) : "…"
        after = slice(end..<scalars.count)
    }
}

extension QueryForm {
    /// The form with the rows of a submitted text; `nil` without a text, or if it is invalid.
    func written(_ visit: Visit) -> QueryForm? {
        guard let text = visit.fields[QueryTextForm.fieldName], let typeName = type else { return nil }
        guard
            let rows = try? QueryTextParser.rows(
                of: text, type: visit.schema?.types[typeName] ?? RecordType(name: typeName))
        else { return nil }
        return changed { form in
            form.filters = rows.filters
            form.sorts = rows.sorts
        }
    }
}
