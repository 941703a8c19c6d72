internal import Console
internal import Mustache

/// A record as a table row.
struct RecordRow<Cell: Sendable>: ViewModel {
    let href: String
    let recordName: String
    /// `nil` for a record without one.
    let title: String?
    /// Identifies the record in actions on ticked records.
    let pick: String
    let cells: [Cell]

    func child(named name: String) -> Any? {
        switch name {
        case "href": href
        case "recordName": recordName
        case "title": title ?? Absent()
        case "pick": pick
        case "cells": cells
        default: nil
        }
    }
}
