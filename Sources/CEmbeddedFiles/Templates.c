// Written by Scripts/embed-files.
#include "CEmbeddedFiles.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

// Arrays of their own, because early compilers with #embed crash on it in a compound literal.
static const char alone_mustache[] = {
#embed "../../Templates/alone.mustache" suffix(, 0)
};
static const char alone_page_mustache[] = {
#embed "../../Templates/alone_page.mustache" suffix(, 0)
};
static const char asked_mustache[] = {
#embed "../../Templates/asked.mustache" suffix(, 0)
};
static const char asset_cells_mustache[] = {
#embed "../../Templates/asset_cells.mustache" suffix(, 0)
};
static const char asset_file_mustache[] = {
#embed "../../Templates/asset_file.mustache" suffix(, 0)
};
static const char asset_table_mustache[] = {
#embed "../../Templates/asset_table.mustache" suffix(, 0)
};
static const char bar_chart_mustache[] = {
#embed "../../Templates/bar_chart.mustache" suffix(, 0)
};
static const char builds_mustache[] = {
#embed "../../Templates/builds.mustache" suffix(, 0)
};
static const char button_mustache[] = {
#embed "../../Templates/components/button.mustache" suffix(, 0)
};
static const char change_form_mustache[] = {
#embed "../../Templates/components/change_form.mustache" suffix(, 0)
};
static const char changed_again_mustache[] = {
#embed "../../Templates/changed_again.mustache" suffix(, 0)
};
static const char changes_records_mustache[] = {
#embed "../../Templates/changes_records.mustache" suffix(, 0)
};
static const char changes_zones_mustache[] = {
#embed "../../Templates/changes_zones.mustache" suffix(, 0)
};
static const char choice_mustache[] = {
#embed "../../Templates/choice.mustache" suffix(, 0)
};
static const char client_snippets_mustache[] = {
#embed "../../Templates/client_snippets.mustache" suffix(, 0)
};
static const char code_block_mustache[] = {
#embed "../../Templates/components/code_block.mustache" suffix(, 0)
};
static const char code_panel_mustache[] = {
#embed "../../Templates/code_panel.mustache" suffix(, 0)
};
static const char column_head_mustache[] = {
#embed "../../Templates/column_head.mustache" suffix(, 0)
};
static const char columns_mustache[] = {
#embed "../../Templates/components/columns.mustache" suffix(, 0)
};
static const char compared_side_mustache[] = {
#embed "../../Templates/compared_side.mustache" suffix(, 0)
};
static const char complaint_mustache[] = {
#embed "../../Templates/complaint.mustache" suffix(, 0)
};
static const char component_page_mustache[] = {
#embed "../../Templates/components/component_page.mustache" suffix(, 0)
};
static const char confirm_mustache[] = {
#embed "../../Templates/confirm.mustache" suffix(, 0)
};
static const char confirmation_mustache[] = {
#embed "../../Templates/components/confirmation.mustache" suffix(, 0)
};
static const char desired_keys_mustache[] = {
#embed "../../Templates/desired_keys.mustache" suffix(, 0)
};
static const char diagnosis_mustache[] = {
#embed "../../Templates/diagnosis.mustache" suffix(, 0)
};
static const char differences_mustache[] = {
#embed "../../Templates/components/differences.mustache" suffix(, 0)
};
static const char dots_mustache[] = {
#embed "../../Templates/dots.mustache" suffix(, 0)
};
static const char edit_bytes_mustache[] = {
#embed "../../Templates/edit_bytes.mustache" suffix(, 0)
};
static const char edit_location_mustache[] = {
#embed "../../Templates/edit_location.mustache" suffix(, 0)
};
static const char edit_number_mustache[] = {
#embed "../../Templates/edit_number.mustache" suffix(, 0)
};
static const char edit_reference_mustache[] = {
#embed "../../Templates/edit_reference.mustache" suffix(, 0)
};
static const char edit_row_mustache[] = {
#embed "../../Templates/edit_row.mustache" suffix(, 0)
};
static const char edit_text_mustache[] = {
#embed "../../Templates/edit_text.mustache" suffix(, 0)
};
static const char edit_time_mustache[] = {
#embed "../../Templates/edit_time.mustache" suffix(, 0)
};
static const char empty_state_mustache[] = {
#embed "../../Templates/components/empty_state.mustache" suffix(, 0)
};
static const char error_codes_mustache[] = {
#embed "../../Templates/error_codes.mustache" suffix(, 0)
};
static const char errors_mustache[] = {
#embed "../../Templates/errors.mustache" suffix(, 0)
};
static const char explain_mustache[] = {
#embed "../../Templates/explain.mustache" suffix(, 0)
};
static const char facet_mustache[] = {
#embed "../../Templates/facet.mustache" suffix(, 0)
};
static const char facet_value_mustache[] = {
#embed "../../Templates/facet_value.mustache" suffix(, 0)
};
static const char facts_mustache[] = {
#embed "../../Templates/components/facts.mustache" suffix(, 0)
};
static const char fetch_mustache[] = {
#embed "../../Templates/fetch.mustache" suffix(, 0)
};
static const char fetch_actions_mustache[] = {
#embed "../../Templates/fetch_actions.mustache" suffix(, 0)
};
static const char fetching_mustache[] = {
#embed "../../Templates/fetching.mustache" suffix(, 0)
};
static const char field_row_mustache[] = {
#embed "../../Templates/field_row.mustache" suffix(, 0)
};
static const char figures_mustache[] = {
#embed "../../Templates/components/figures.mustache" suffix(, 0)
};
static const char find_box_mustache[] = {
#embed "../../Templates/find_box.mustache" suffix(, 0)
};
static const char first_steps_mustache[] = {
#embed "../../Templates/first_steps.mustache" suffix(, 0)
};
static const char fold_mustache[] = {
#embed "../../Templates/components/fold.mustache" suffix(, 0)
};
static const char folded_form_mustache[] = {
#embed "../../Templates/folded_form.mustache" suffix(, 0)
};
static const char foot_mustache[] = {
#embed "../../Templates/components/foot.mustache" suffix(, 0)
};
static const char form_mustache[] = {
#embed "../../Templates/components/form.mustache" suffix(, 0)
};
static const char form_field_mustache[] = {
#embed "../../Templates/components/form_field.mustache" suffix(, 0)
};
static const char found_record_mustache[] = {
#embed "../../Templates/found_record.mustache" suffix(, 0)
};
static const char gauge_mustache[] = {
#embed "../../Templates/components/gauge.mustache" suffix(, 0)
};
static const char grants_mustache[] = {
#embed "../../Templates/grants.mustache" suffix(, 0)
};
static const char home_mustache[] = {
#embed "../../Templates/home.mustache" suffix(, 0)
};
static const char icloud_sign_in_mustache[] = {
#embed "../../Templates/components/icloud_sign_in.mustache" suffix(, 0)
};
static const char importing_mustache[] = {
#embed "../../Templates/importing.mustache" suffix(, 0)
};
static const char index_cell_mustache[] = {
#embed "../../Templates/components/index_cell.mustache" suffix(, 0)
};
static const char inline_mustache[] = {
#embed "../../Templates/components/inline.mustache" suffix(, 0)
};
static const char invitation_mustache[] = {
#embed "../../Templates/invitation.mustache" suffix(, 0)
};
static const char job_progress_mustache[] = {
#embed "../../Templates/components/job_progress.mustache" suffix(, 0)
};
static const char latest_panel_mustache[] = {
#embed "../../Templates/latest_panel.mustache" suffix(, 0)
};
static const char latest_requests_mustache[] = {
#embed "../../Templates/latest_requests.mustache" suffix(, 0)
};
static const char layout_mustache[] = {
#embed "../../Templates/layout.mustache" suffix(, 0)
};
static const char link_mustache[] = {
#embed "../../Templates/components/link.mustache" suffix(, 0)
};
static const char listing_mustache[] = {
#embed "../../Templates/components/listing.mustache" suffix(, 0)
};
static const char live_mustache[] = {
#embed "../../Templates/components/live.mustache" suffix(, 0)
};
static const char location_map_mustache[] = {
#embed "../../Templates/location_map.mustache" suffix(, 0)
};
static const char mark_mustache[] = {
#embed "../../Templates/mark.mustache" suffix(, 0)
};
static const char menu_mustache[] = {
#embed "../../Templates/components/menu.mustache" suffix(, 0)
};
static const char meter_mustache[] = {
#embed "../../Templates/meter.mustache" suffix(, 0)
};
static const char mirror_offer_mustache[] = {
#embed "../../Templates/mirror_offer.mustache" suffix(, 0)
};
static const char no_feed_mustache[] = {
#embed "../../Templates/no_feed.mustache" suffix(, 0)
};
static const char note_mustache[] = {
#embed "../../Templates/components/note.mustache" suffix(, 0)
};
static const char notice_mustache[] = {
#embed "../../Templates/notice.mustache" suffix(, 0)
};
static const char object_mustache[] = {
#embed "../../Templates/object.mustache" suffix(, 0)
};
static const char objects_entity_mustache[] = {
#embed "../../Templates/objects_entity.mustache" suffix(, 0)
};
static const char others_mustache[] = {
#embed "../../Templates/others.mustache" suffix(, 0)
};
static const char page_head_mustache[] = {
#embed "../../Templates/components/page_head.mustache" suffix(, 0)
};
static const char paragraph_mustache[] = {
#embed "../../Templates/components/paragraph.mustache" suffix(, 0)
};
static const char password_form_mustache[] = {
#embed "../../Templates/components/password_form.mustache" suffix(, 0)
};
static const char picking_mustache[] = {
#embed "../../Templates/picking.mustache" suffix(, 0)
};
static const char preview_mustache[] = {
#embed "../../Templates/preview.mustache" suffix(, 0)
};
static const char query_mustache[] = {
#embed "../../Templates/query.mustache" suffix(, 0)
};
static const char query_filters_mustache[] = {
#embed "../../Templates/query_filters.mustache" suffix(, 0)
};
static const char query_fold_mustache[] = {
#embed "../../Templates/query_fold.mustache" suffix(, 0)
};
static const char query_form_mustache[] = {
#embed "../../Templates/query_form.mustache" suffix(, 0)
};
static const char query_funnel_mustache[] = {
#embed "../../Templates/query_funnel.mustache" suffix(, 0)
};
static const char query_head_mustache[] = {
#embed "../../Templates/query_head.mustache" suffix(, 0)
};
static const char query_written_mustache[] = {
#embed "../../Templates/query_written.mustache" suffix(, 0)
};
static const char record_mustache[] = {
#embed "../../Templates/record.mustache" suffix(, 0)
};
static const char record_assets_mustache[] = {
#embed "../../Templates/record_assets.mustache" suffix(, 0)
};
static const char record_clients_mustache[] = {
#embed "../../Templates/record_clients.mustache" suffix(, 0)
};
static const char record_compare_mustache[] = {
#embed "../../Templates/record_compare.mustache" suffix(, 0)
};
static const char record_conflict_mustache[] = {
#embed "../../Templates/record_conflict.mustache" suffix(, 0)
};
static const char record_delete_mustache[] = {
#embed "../../Templates/record_delete.mustache" suffix(, 0)
};
static const char record_edit_mustache[] = {
#embed "../../Templates/record_edit.mustache" suffix(, 0)
};
static const char record_graph_mustache[] = {
#embed "../../Templates/record_graph.mustache" suffix(, 0)
};
static const char record_history_panel_mustache[] = {
#embed "../../Templates/record_history_panel.mustache" suffix(, 0)
};
static const char record_mark_mustache[] = {
#embed "../../Templates/record_mark.mustache" suffix(, 0)
};
static const char record_name_mustache[] = {
#embed "../../Templates/record_name.mustache" suffix(, 0)
};
static const char record_new_mustache[] = {
#embed "../../Templates/record_new.mustache" suffix(, 0)
};
static const char record_referrers_mustache[] = {
#embed "../../Templates/record_referrers.mustache" suffix(, 0)
};
static const char record_sharing_mustache[] = {
#embed "../../Templates/record_sharing.mustache" suffix(, 0)
};
static const char record_since_mustache[] = {
#embed "../../Templates/record_since.mustache" suffix(, 0)
};
static const char refresh_mustache[] = {
#embed "../../Templates/refresh.mustache" suffix(, 0)
};
static const char refusal_mustache[] = {
#embed "../../Templates/refusal.mustache" suffix(, 0)
};
static const char refused_form_mustache[] = {
#embed "../../Templates/refused_form.mustache" suffix(, 0)
};
static const char request_mustache[] = {
#embed "../../Templates/request.mustache" suffix(, 0)
};
static const char request_body_mustache[] = {
#embed "../../Templates/request_body.mustache" suffix(, 0)
};
static const char requests_mustache[] = {
#embed "../../Templates/requests.mustache" suffix(, 0)
};
static const char result_files_mustache[] = {
#embed "../../Templates/result_files.mustache" suffix(, 0)
};
static const char saved_queries_mustache[] = {
#embed "../../Templates/saved_queries.mustache" suffix(, 0)
};
static const char schema_changes_mustache[] = {
#embed "../../Templates/schema_changes.mustache" suffix(, 0)
};
static const char search_group_mustache[] = {
#embed "../../Templates/search_group.mustache" suffix(, 0)
};
static const char section_mustache[] = {
#embed "../../Templates/components/section.mustache" suffix(, 0)
};
static const char share_link_mustache[] = {
#embed "../../Templates/share_link.mustache" suffix(, 0)
};
static const char share_people_mustache[] = {
#embed "../../Templates/share_people.mustache" suffix(, 0)
};
static const char shortcuts_mustache[] = {
#embed "../../Templates/shortcuts.mustache" suffix(, 0)
};
static const char sign_in_mustache[] = {
#embed "../../Templates/sign_in.mustache" suffix(, 0)
};
static const char sign_in_result_mustache[] = {
#embed "../../Templates/components/sign_in_result.mustache" suffix(, 0)
};
static const char since_mustache[] = {
#embed "../../Templates/since.mustache" suffix(, 0)
};
static const char storage_meter_mustache[] = {
#embed "../../Templates/storage_meter.mustache" suffix(, 0)
};
static const char subscription_mustache[] = {
#embed "../../Templates/subscription.mustache" suffix(, 0)
};
static const char sync_mustache[] = {
#embed "../../Templates/sync.mustache" suffix(, 0)
};
static const char sync_ages_mustache[] = {
#embed "../../Templates/sync_ages.mustache" suffix(, 0)
};
static const char sync_lane_mustache[] = {
#embed "../../Templates/sync_lane.mustache" suffix(, 0)
};
static const char table_mustache[] = {
#embed "../../Templates/components/table.mustache" suffix(, 0)
};
static const char test_device_mustache[] = {
#embed "../../Templates/components/test_device.mustache" suffix(, 0)
};
static const char timeline_mustache[] = {
#embed "../../Templates/timeline.mustache" suffix(, 0)
};
static const char token_mustache[] = {
#embed "../../Templates/token.mustache" suffix(, 0)
};
static const char token_ahead_mustache[] = {
#embed "../../Templates/token_ahead.mustache" suffix(, 0)
};
static const char token_archive_mustache[] = {
#embed "../../Templates/token_archive.mustache" suffix(, 0)
};
static const char token_comparison_mustache[] = {
#embed "../../Templates/token_comparison.mustache" suffix(, 0)
};
static const char token_forms_mustache[] = {
#embed "../../Templates/token_forms.mustache" suffix(, 0)
};
static const char token_lesson_mustache[] = {
#embed "../../Templates/token_lesson.mustache" suffix(, 0)
};
static const char type_mustache[] = {
#embed "../../Templates/type.mustache" suffix(, 0)
};
static const char user_field_mustache[] = {
#embed "../../Templates/user_field.mustache" suffix(, 0)
};
static const char value_action_mustache[] = {
#embed "../../Templates/value_action.mustache" suffix(, 0)
};
static const char value_asset_mustache[] = {
#embed "../../Templates/value_asset.mustache" suffix(, 0)
};
static const char value_code_mustache[] = {
#embed "../../Templates/value_code.mustache" suffix(, 0)
};
static const char value_copyable_mustache[] = {
#embed "../../Templates/value_copyable.mustache" suffix(, 0)
};
static const char value_link_mustache[] = {
#embed "../../Templates/value_link.mustache" suffix(, 0)
};
static const char value_list_mustache[] = {
#embed "../../Templates/value_list.mustache" suffix(, 0)
};
static const char value_long_mustache[] = {
#embed "../../Templates/value_long.mustache" suffix(, 0)
};
static const char value_missing_mustache[] = {
#embed "../../Templates/value_missing.mustache" suffix(, 0)
};
static const char value_origin_mustache[] = {
#embed "../../Templates/value_origin.mustache" suffix(, 0)
};
static const char value_part_mustache[] = {
#embed "../../Templates/value_part.mustache" suffix(, 0)
};
static const char value_record_mustache[] = {
#embed "../../Templates/value_record.mustache" suffix(, 0)
};
static const char value_strong_mustache[] = {
#embed "../../Templates/value_strong.mustache" suffix(, 0)
};
static const char value_styled_mustache[] = {
#embed "../../Templates/value_styled.mustache" suffix(, 0)
};
static const char value_text_mustache[] = {
#embed "../../Templates/value_text.mustache" suffix(, 0)
};
static const char value_time_mustache[] = {
#embed "../../Templates/value_time.mustache" suffix(, 0)
};
static const char value_token_mustache[] = {
#embed "../../Templates/value_token.mustache" suffix(, 0)
};
static const char versions_mustache[] = {
#embed "../../Templates/versions.mustache" suffix(, 0)
};
static const char whereabouts_mustache[] = {
#embed "../../Templates/whereabouts.mustache" suffix(, 0)
};
static const char who_sees_mustache[] = {
#embed "../../Templates/who_sees.mustache" suffix(, 0)
};
static const char who_sees_node_mustache[] = {
#embed "../../Templates/who_sees_node.mustache" suffix(, 0)
};

static const struct embedded_file files[] = {
    {"alone.mustache", alone_mustache},
    {"alone_page.mustache", alone_page_mustache},
    {"asked.mustache", asked_mustache},
    {"asset_cells.mustache", asset_cells_mustache},
    {"asset_file.mustache", asset_file_mustache},
    {"asset_table.mustache", asset_table_mustache},
    {"bar_chart.mustache", bar_chart_mustache},
    {"builds.mustache", builds_mustache},
    {"button.mustache", button_mustache},
    {"change_form.mustache", change_form_mustache},
    {"changed_again.mustache", changed_again_mustache},
    {"changes_records.mustache", changes_records_mustache},
    {"changes_zones.mustache", changes_zones_mustache},
    {"choice.mustache", choice_mustache},
    {"client_snippets.mustache", client_snippets_mustache},
    {"code_block.mustache", code_block_mustache},
    {"code_panel.mustache", code_panel_mustache},
    {"column_head.mustache", column_head_mustache},
    {"columns.mustache", columns_mustache},
    {"compared_side.mustache", compared_side_mustache},
    {"complaint.mustache", complaint_mustache},
    {"component_page.mustache", component_page_mustache},
    {"confirm.mustache", confirm_mustache},
    {"confirmation.mustache", confirmation_mustache},
    {"desired_keys.mustache", desired_keys_mustache},
    {"diagnosis.mustache", diagnosis_mustache},
    {"differences.mustache", differences_mustache},
    {"dots.mustache", dots_mustache},
    {"edit_bytes.mustache", edit_bytes_mustache},
    {"edit_location.mustache", edit_location_mustache},
    {"edit_number.mustache", edit_number_mustache},
    {"edit_reference.mustache", edit_reference_mustache},
    {"edit_row.mustache", edit_row_mustache},
    {"edit_text.mustache", edit_text_mustache},
    {"edit_time.mustache", edit_time_mustache},
    {"empty_state.mustache", empty_state_mustache},
    {"error_codes.mustache", error_codes_mustache},
    {"errors.mustache", errors_mustache},
    {"explain.mustache", explain_mustache},
    {"facet.mustache", facet_mustache},
    {"facet_value.mustache", facet_value_mustache},
    {"facts.mustache", facts_mustache},
    {"fetch.mustache", fetch_mustache},
    {"fetch_actions.mustache", fetch_actions_mustache},
    {"fetching.mustache", fetching_mustache},
    {"field_row.mustache", field_row_mustache},
    {"figures.mustache", figures_mustache},
    {"find_box.mustache", find_box_mustache},
    {"first_steps.mustache", first_steps_mustache},
    {"fold.mustache", fold_mustache},
    {"folded_form.mustache", folded_form_mustache},
    {"foot.mustache", foot_mustache},
    {"form.mustache", form_mustache},
    {"form_field.mustache", form_field_mustache},
    {"found_record.mustache", found_record_mustache},
    {"gauge.mustache", gauge_mustache},
    {"grants.mustache", grants_mustache},
    {"home.mustache", home_mustache},
    {"icloud_sign_in.mustache", icloud_sign_in_mustache},
    {"importing.mustache", importing_mustache},
    {"index_cell.mustache", index_cell_mustache},
    {"inline.mustache", inline_mustache},
    {"invitation.mustache", invitation_mustache},
    {"job_progress.mustache", job_progress_mustache},
    {"latest_panel.mustache", latest_panel_mustache},
    {"latest_requests.mustache", latest_requests_mustache},
    {"layout.mustache", layout_mustache},
    {"link.mustache", link_mustache},
    {"listing.mustache", listing_mustache},
    {"live.mustache", live_mustache},
    {"location_map.mustache", location_map_mustache},
    {"mark.mustache", mark_mustache},
    {"menu.mustache", menu_mustache},
    {"meter.mustache", meter_mustache},
    {"mirror_offer.mustache", mirror_offer_mustache},
    {"no_feed.mustache", no_feed_mustache},
    {"note.mustache", note_mustache},
    {"notice.mustache", notice_mustache},
    {"object.mustache", object_mustache},
    {"objects_entity.mustache", objects_entity_mustache},
    {"others.mustache", others_mustache},
    {"page_head.mustache", page_head_mustache},
    {"paragraph.mustache", paragraph_mustache},
    {"password_form.mustache", password_form_mustache},
    {"picking.mustache", picking_mustache},
    {"preview.mustache", preview_mustache},
    {"query.mustache", query_mustache},
    {"query_filters.mustache", query_filters_mustache},
    {"query_fold.mustache", query_fold_mustache},
    {"query_form.mustache", query_form_mustache},
    {"query_funnel.mustache", query_funnel_mustache},
    {"query_head.mustache", query_head_mustache},
    {"query_written.mustache", query_written_mustache},
    {"record.mustache", record_mustache},
    {"record_assets.mustache", record_assets_mustache},
    {"record_clients.mustache", record_clients_mustache},
    {"record_compare.mustache", record_compare_mustache},
    {"record_conflict.mustache", record_conflict_mustache},
    {"record_delete.mustache", record_delete_mustache},
    {"record_edit.mustache", record_edit_mustache},
    {"record_graph.mustache", record_graph_mustache},
    {"record_history_panel.mustache", record_history_panel_mustache},
    {"record_mark.mustache", record_mark_mustache},
    {"record_name.mustache", record_name_mustache},
    {"record_new.mustache", record_new_mustache},
    {"record_referrers.mustache", record_referrers_mustache},
    {"record_sharing.mustache", record_sharing_mustache},
    {"record_since.mustache", record_since_mustache},
    {"refresh.mustache", refresh_mustache},
    {"refusal.mustache", refusal_mustache},
    {"refused_form.mustache", refused_form_mustache},
    {"request.mustache", request_mustache},
    {"request_body.mustache", request_body_mustache},
    {"requests.mustache", requests_mustache},
    {"result_files.mustache", result_files_mustache},
    {"saved_queries.mustache", saved_queries_mustache},
    {"schema_changes.mustache", schema_changes_mustache},
    {"search_group.mustache", search_group_mustache},
    {"section.mustache", section_mustache},
    {"share_link.mustache", share_link_mustache},
    {"share_people.mustache", share_people_mustache},
    {"shortcuts.mustache", shortcuts_mustache},
    {"sign_in.mustache", sign_in_mustache},
    {"sign_in_result.mustache", sign_in_result_mustache},
    {"since.mustache", since_mustache},
    {"storage_meter.mustache", storage_meter_mustache},
    {"subscription.mustache", subscription_mustache},
    {"sync.mustache", sync_mustache},
    {"sync_ages.mustache", sync_ages_mustache},
    {"sync_lane.mustache", sync_lane_mustache},
    {"table.mustache", table_mustache},
    {"test_device.mustache", test_device_mustache},
    {"timeline.mustache", timeline_mustache},
    {"token.mustache", token_mustache},
    {"token_ahead.mustache", token_ahead_mustache},
    {"token_archive.mustache", token_archive_mustache},
    {"token_comparison.mustache", token_comparison_mustache},
    {"token_forms.mustache", token_forms_mustache},
    {"token_lesson.mustache", token_lesson_mustache},
    {"type.mustache", type_mustache},
    {"user_field.mustache", user_field_mustache},
    {"value_action.mustache", value_action_mustache},
    {"value_asset.mustache", value_asset_mustache},
    {"value_code.mustache", value_code_mustache},
    {"value_copyable.mustache", value_copyable_mustache},
    {"value_link.mustache", value_link_mustache},
    {"value_list.mustache", value_list_mustache},
    {"value_long.mustache", value_long_mustache},
    {"value_missing.mustache", value_missing_mustache},
    {"value_origin.mustache", value_origin_mustache},
    {"value_part.mustache", value_part_mustache},
    {"value_record.mustache", value_record_mustache},
    {"value_strong.mustache", value_strong_mustache},
    {"value_styled.mustache", value_styled_mustache},
    {"value_text.mustache", value_text_mustache},
    {"value_time.mustache", value_time_mustache},
    {"value_token.mustache", value_token_mustache},
    {"versions.mustache", versions_mustache},
    {"whereabouts.mustache", whereabouts_mustache},
    {"who_sees.mustache", who_sees_mustache},
    {"who_sees_node.mustache", who_sees_node_mustache},
    {0, 0},
};

const struct embedded_file *embedded_templates(void) { return files; }
