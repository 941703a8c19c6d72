/// A table: a row for each thing. The first cell of a row names the thing.
package struct Table: Component {
    package static let template = "table"

    package enum Style: String, Sendable {
        /// Ended rows are struck through.
        case credentials
        /// Narrow windows show each row as a card.
        case cards = "usertable"
        case narrow
    }

    package struct Column: ViewModel, ExpressibleByStringLiteral {
        let title: String
        /// The class of the column's cells, and of its head for numbers.
        let style: String?
        let headStyle: String?
        /// True for a title that is for screen readers alone.
        let isHidden: Bool

        private init(_ title: String, style: String? = nil, headStyle: String? = nil, isHidden: Bool = false) {
            (self.title, self.style, self.headStyle, self.isHidden) = (title, style, headStyle, isHidden)
        }

        package init(stringLiteral title: String) { self.init(title) }

        package static func column(_ title: String, _ style: String? = nil) -> Column { Column(title, style: style) }

        package static func number(_ title: String) -> Column { Column(title, style: "num", headStyle: "num") }

        /// The column of links and buttons.
        package static func actions(_ title: String = "actions") -> Column { Column(title, isHidden: true) }
    }

    package struct Row: ViewModel {
        let style: String?
        var cells: [Cell]

        /// - Parameter isEnded: true for what is revoked or expired.
        package init(_ cells: [Inline], isEnded: Bool = false) {
            style = isEnded ? "revoked" : nil
            self.cells = cells.enumerated().map { Cell(content: $1, isHead: $0 == 0) }
        }
    }

    struct Cell: ViewModel {
        let content: Inline
        let isHead: Bool
        var style: String?
        /// The column's title, where a narrow window shows rows as cards.
        var title: String?

        func child(named name: String) -> Any? {
            switch name {
            case "spans": content.spans
            case "isHead": isHead
            case "style": style ?? Absent()
            case "title": title ?? Absent()
            default: nil
            }
        }
    }

    /// What the rows are, for screen readers.
    let label: String
    let style: String?
    let columns: [Column]
    let rows: [Row]
    /// What is shown in place of a table without rows.
    let nothing: EmptyState?
    /// A remark about rows that are left out.
    let more: String?

    package init(
        _ label: String, style: Style? = nil, _ columns: [Column], _ rows: [Row], nothing: EmptyState? = nil,
        more: String? = nil
    ) {
        (self.label, self.columns, self.nothing, self.more) = (label, columns, nothing, more)
        self.style = style?.rawValue
        self.rows = rows.map { row in
            var row = row
            for (index, column) in zip(row.cells.indices, columns) {
                row.cells[index].style = column.style
                row.cells[index].title = style == .cards && !column.isHidden ? column.title : nil
            }
            return row
        }
    }
}

/// What is shown where there is nothing yet: what would be there, and the next step.
package struct EmptyState: Component {
    package static let template = "empty_state"

    let title: String?
    let text: Inline?

    package init(_ title: String, _ text: Inline? = nil) { (self.title, self.text) = (title, text) }

    /// One sentence, for a part of a page.
    package init(sentence: Inline) { (title, text) = (nil, sentence) }
}

// MARK: - Facts

/// Names and values.
package struct Facts: Component {
    package static let template = "facts"

    package struct Fact: ViewModel {
        let name: Inline
        let value: Inline

        package init(_ name: Inline, _ value: Inline) { (self.name, self.value) = (name, value) }
    }

    let style: String?
    let facts: [Fact]

    package init(style: String? = nil, _ facts: [Fact]) { (self.style, self.facts) = (style, facts) }
}

/// How much of a limit is used.
package struct Gauge: Component {
    package static let template = "gauge"

    let label: String
    let used: String
    let maximum: String

    package init(_ label: String, used: Int, of maximum: Int) {
        (self.label, self.used, self.maximum) = (label, String(used), String(maximum))
    }
}
